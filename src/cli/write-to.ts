// Writes a file that the user named.
import { writeFile } from 'node:fs/promises'
import { CommandError } from './command.ts'

export async function writeTo(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(`cannot write ${file} (${code}); pass a file in a writable folder.`)
  }
}
