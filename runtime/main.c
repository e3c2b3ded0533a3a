/* runtime/main.c - the brine command; everything is behind runtime/cli/. */
int main(void)
{
    return 0;
}
