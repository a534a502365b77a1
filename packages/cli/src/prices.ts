// The option --prices, which reads a price table from a file, and the model that counts by default.
import { type PriceTable, prices, readPrices } from '@toolshelf/core/internal'
import { readBoundedFile } from '@toolshelf/core/internal/node'
import { CommandError, type Input, type Option } from './command.ts'

/** Id of the model that commands use if the user chooses none. */
export const MODEL = 'claude-sonnet-5-5'

export const pricesOption: { readonly [name: string]: Option } = {
  prices: { value: 'file', about: 'what models cost, as JSON (docs/figures.md)' },
}

const MAX_BYTES = 1_000_000

/** Reads the given price table; returns the built-in one without the option. */
export async function pricesIn(input: Input): Promise<PriceTable> {
  const file = input.text('prices')
  if (file === undefined) return prices
  try {
    return readPrices(JSON.parse((await readBoundedFile(file, MAX_BYTES)).toString('utf8')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandError(
      code === 'ENOENT' ? `--prices: no such file ${file}` : `--prices: ${file}: ${message}`,
    )
  }
}
