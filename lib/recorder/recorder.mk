# Libraries of the recorder, and flags of single files of it (REC_CFLAGS_<file without .c>).
REC_LIBS := -lz -lpthread
