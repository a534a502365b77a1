// The option --prices: a price table from a file, for every command that shows money.

import { type PriceTable, prices, readPrices } from '../core/figures/index.ts'
import { readBoundedFile } from '../node/index.ts'
import { CommandError, type Input, type Option } from './command.ts'

export const pricesOption: { readonly [name: string]: Option } = {
  prices: {
    type: 'string',
    value: 'file',
    about: 'what models cost, as JSON (docs/figures.md)',
  },
}

const MOST_BYTES = 1_000_000

/** The price table that was named, or the one that comes with Toolshelf. */
export async function pricesIn(input: Input): Promise<PriceTable> {
  const file = input.text('prices')
  if (file === undefined) return prices
  try {
    return readPrices(JSON.parse((await readBoundedFile(file, MOST_BYTES)).toString('utf8')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandError(
      code === 'ENOENT' ? `--prices: no such file ${file}` : `--prices: ${file}: ${message}`,
    )
  }
}
