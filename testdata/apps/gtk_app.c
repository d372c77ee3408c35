/* A GTK 3 program with a modal dialog: `gtk_app [DIRECTORY]`. The dialog stays open for two seconds
 * in all; the handler of its button stalls once. With a directory the recorder is attached to GTK's
 * context; without one nothing here calls it, and stallrec(1) records the program as it is. */
#include <gtk/gtk.h>

#include "recorded.h"
#include "stallrec_glib.h"

enum { OPEN_MS = 1000, MANY_MS = 1500 /* long enough not to be taken for a slow start of GTK */ };

OWN_FRAME static void apply_settings(void) {
    sleep_ms(MANY_MS);
    KEEP_FRAME();
}

OWN_FRAME static void on_apply_clicked(GtkButton *button, gpointer data) {
    (void)button, (void)data;
    apply_settings();
    KEEP_FRAME();
}

static gboolean click(gpointer button) {
    gtk_button_clicked(GTK_BUTTON(button));
    return G_SOURCE_REMOVE;
}

static gboolean close_dialog(gpointer dialog) {
    gtk_dialog_response(GTK_DIALOG(dialog), GTK_RESPONSE_OK);
    return G_SOURCE_REMOVE;
}

/* A timer such as a clock or a blinking cursor has. */
static gboolean tick(gpointer data) {
    (void)data;
    return G_SOURCE_CONTINUE;
}

static gboolean quit(gpointer data) {
    (void)data;
    gtk_main_quit();
    return G_SOURCE_REMOVE;
}

static gboolean open_dialog(gpointer window) {
    GtkWidget *dialog = gtk_dialog_new_with_buttons(
        "Settings", GTK_WINDOW(window), GTK_DIALOG_MODAL, "_Close", GTK_RESPONSE_OK, NULL);
    GtkWidget *apply = gtk_button_new_with_label("Apply");
    gtk_container_add(GTK_CONTAINER(gtk_dialog_get_content_area(GTK_DIALOG(dialog))), apply);
    g_signal_connect(apply, "clicked", G_CALLBACK(on_apply_clicked), NULL);
    gtk_widget_show_all(dialog);
    g_timeout_add(OPEN_MS, click, apply);
    g_timeout_add(OPEN_MS + MANY_MS + OPEN_MS, close_dialog, dialog);
    gtk_dialog_run(GTK_DIALOG(dialog));
    gtk_widget_destroy(dialog);
    g_timeout_add(STEP_MS, quit, NULL);
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
    struct stallrec *rec = NULL;
    gtk_init(&argc, &argv);
    GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    gtk_container_add(GTK_CONTAINER(window), gtk_label_new("Shop"));
    gtk_widget_show_all(window);
    while (gtk_events_pending()) { /* the first frame is the start's, not the loop's */
        gtk_main_iteration();
    }
    if (argc > 1) {
        rec = start_recorder(argv[1], "stalls");
        attached(stallrec_attach_glib(rec, NULL));
    }
    g_timeout_add(STEP_MS / 2, tick, NULL);
    g_timeout_add(5 * STEP_MS, open_dialog, window);
    gtk_main();
    if (rec) {
        stallrec_detach_glib();
        stallrec_stop(rec);
    }
    return 0;
}
