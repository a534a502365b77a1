// Makes names, commands and reasons from untrusted files and servers safe to print.

/** Removes control characters; keeps line breaks. */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, '?')
}
