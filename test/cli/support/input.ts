// The options of a command as an object, for functions that read some of them.
import type { Input } from '../../../src/cli/command.ts'

/** `true` is an option without a value. */
export function inputOf(
  options: { readonly [name: string]: string | readonly string[] | true } = {},
  words: readonly string[] = [],
): Input {
  const text = (option: string) => {
    const value = options[option]
    return typeof value === 'string' ? value : undefined
  }
  const texts = (option: string) => [options[option] ?? []].flat().map(String)
  return { words, text, texts, isSet: (option) => option in options }
}

/** What `work` returns, or the message of what it throws. */
export async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return `${(error as Error).constructor.name}: ${(error as Error).message}`
  }
}
