/* Descriptors that are not for what is done with them, folders, and paths from the root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maps the first bytes of a file of 6 bytes, writes to it, and prints what the file has. */
static void map(const char *text, int flags, int ends)
{
    char found[16] = "", *memory;
    int file = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);

    write(file, "abcdef", 6);
    memory = mmap(NULL, 100, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        perror("mmap");
    close(file);
    strcpy(memory + 4, text);
    if (ends == 1)
        msync(memory, 100, MS_SYNC);
    if (ends == 2)
        munmap(memory, 100);
    file = open("mapped", O_RDONLY);
    printf("the file has %d bytes: %s\n", (int)read(file, found, 16), found);
    close(file);
    if (ends == 1)
        munmap(memory, 100);
}

int main(void)
{
    char byte = 'x';
    int own = 0, all = 0, file;
    struct dirent *entry;
    DIR *folder;

    printf("terminals %d %d %d\n", isatty(0), isatty(1), errno == ENOTTY);
    printf("no file %d %d\n", isatty(77), errno == EBADF);
    file = open("files.c", O_RDONLY);
    printf("write %d %d\n", (int)write(file, &byte, 1), errno == EBADF);
    printf("terminal %d %d\n", isatty(file), errno == ENOTTY);
    close(file);
    file = open("new", O_WRONLY | O_CREAT, 0644);
    printf("read %d %d\n", (int)read(file, &byte, 1), errno == EBADF);
    close(file);
    mkdir("folder", 0755);
    close(open("folder/one", O_WRONLY | O_CREAT, 0644));
    folder = opendir("folder");
    while ((entry = readdir(folder)) != NULL) {
        own += (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) && entry->d_type == DT_DIR;
        all++;
    }
    closedir(folder);
    printf("entries %d, of these %d of its own\n", all, own);
    printf("from the root %d %d\n", open("/usr/there", O_RDONLY), errno == ENOENT);
    map("private", MAP_PRIVATE, 2);
    map("unmapped", MAP_SHARED, 2);
    map("synchronised", MAP_SHARED, 1);
    map("left", MAP_SHARED, 0); /* written at the end */
    return 0;
}
