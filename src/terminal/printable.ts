// Names, commands and reasons come from files and servers that anyone may have written.

/** No control characters reach the terminal; lines stay lines. */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, '?')
}
