/* A stand-in for libdwarf 0.x and 2.x: what lib/debug asks of their interface, which differs from
 * that of Debian 12's 20210528 where the comments say so. scripts/test/libdwarf compiles against
 * it; nothing is linked. */
#ifndef STALLKIT_STANDIN_LIBDWARF_H
#define STALLKIT_STANDIN_LIBDWARF_H

#define DW_LIBDWARF_VERSION_MAJOR 2 /* 20210528 has none */

typedef unsigned long long Dwarf_Unsigned;
typedef long long Dwarf_Signed;
typedef unsigned long long Dwarf_Off;
typedef unsigned short Dwarf_Half;
typedef unsigned char Dwarf_Small;
typedef int Dwarf_Bool;
typedef void *Dwarf_Ptr;
typedef struct Dwarf_Debug_s *Dwarf_Debug;
typedef struct Dwarf_Error_s *Dwarf_Error;
typedef struct Dwarf_Die_s *Dwarf_Die;
typedef struct Dwarf_Attribute_s *Dwarf_Attribute;
typedef void (*Dwarf_Handler)(Dwarf_Error error, Dwarf_Ptr context);
typedef struct {
    char signature[8];
} Dwarf_Sig8;

enum {
    DW_DLV_NO_ENTRY = -1,
    DW_DLV_OK = 0,
    DW_DLV_ERROR = 1,
    DW_DLE_MDE = 53,
    DW_DLA_LIST = 15,
    DW_GROUPNUMBER_ANY = 0,
};

/* 20210528: without _a, without as_, om_ and ai_, no size of the file, indexes of 16 bits. */
typedef struct {
    const char *as_name;
    Dwarf_Unsigned as_type, as_flags, as_addr, as_offset, as_size, as_link, as_info, as_addralign,
        as_entrysize;
} Dwarf_Obj_Access_Section_a;
typedef struct {
    int (*om_get_section_info)(void *object, Dwarf_Unsigned index, Dwarf_Obj_Access_Section_a *out,
                               int *error);
    Dwarf_Small (*om_get_byte_order)(void *object); /* 20210528: an enumeration of its own */
    Dwarf_Small (*om_get_length_size)(void *object);
    Dwarf_Small (*om_get_pointer_size)(void *object);
    Dwarf_Unsigned (*om_get_filesize)(void *object);
    Dwarf_Unsigned (*om_get_section_count)(void *object);
    int (*om_load_section)(void *object, Dwarf_Unsigned index, Dwarf_Small **data, int *error);
    int (*om_relocate_a_section)(void *object, Dwarf_Unsigned index, Dwarf_Debug dbg, int *error);
} Dwarf_Obj_Access_Methods_a;
typedef struct {
    void *ai_object;
    const Dwarf_Obj_Access_Methods_a *ai_methods;
} Dwarf_Obj_Access_Interface_a;

int dwarf_object_init_b(Dwarf_Obj_Access_Interface_a *object, Dwarf_Handler handler, Dwarf_Ptr ctx,
                        unsigned group, Dwarf_Debug *dbg, Dwarf_Error *error);
int dwarf_object_finish(Dwarf_Debug dbg); /* 20210528: takes an error, too */
int dwarf_next_cu_header_d(Dwarf_Debug dbg, Dwarf_Bool is_info, Dwarf_Unsigned *length,
                           Dwarf_Half *version, Dwarf_Off *abbrev, Dwarf_Half *address_size,
                           Dwarf_Half *offset_size, Dwarf_Half *extension, Dwarf_Sig8 *signature,
                           Dwarf_Unsigned *type_offset, Dwarf_Unsigned *next, Dwarf_Half *type,
                           Dwarf_Error *error);
int dwarf_offdie_b(Dwarf_Debug dbg, Dwarf_Off offset, Dwarf_Bool is_info, Dwarf_Die *die,
                   Dwarf_Error *error);
int dwarf_attrlist(Dwarf_Die die, Dwarf_Attribute **list, Dwarf_Signed *count, Dwarf_Error *error);
int dwarf_whatattr(Dwarf_Attribute attr, Dwarf_Half *which, Dwarf_Error *error);
int dwarf_whatform(Dwarf_Attribute attr, Dwarf_Half *form, Dwarf_Error *error);
int dwarf_attr_offset(Dwarf_Die die, Dwarf_Attribute attr, Dwarf_Off *offset, Dwarf_Error *error);
char *dwarf_errmsg(Dwarf_Error error);
void dwarf_dealloc(Dwarf_Debug dbg, Dwarf_Ptr block, Dwarf_Unsigned type);
void dwarf_dealloc_die(Dwarf_Die die);
void dwarf_dealloc_attribute(Dwarf_Attribute attr);
void dwarf_dealloc_error(Dwarf_Debug dbg, Dwarf_Error error);

#endif
