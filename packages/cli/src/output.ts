// Writes what a command prints for programs: JSON that a terminal can show, and files that the user named.
import { writeFile } from 'node:fs/promises'
import { toJson } from '@toolshelf/core/internal'
import { CommandError } from './command.ts'

/** Escapes characters that could control a terminal; JSON itself escapes only some of them. */
export function toSafeJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return toJson(value).replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped)
}

/** Writes a file; an error says what to do about it. */
export async function writeTo(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(`cannot write ${file} (${code}); pass a file in a writable folder.`)
  }
}
