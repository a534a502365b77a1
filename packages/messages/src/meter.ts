// Measures one client request: what was sent for it, the usage the upstream reported, and what tool search saved.
import {
  billedTokens,
  type Figures,
  figuresOf,
  hasCacheMarks,
  type PriceTable,
  priceOf,
  readingOf,
  type Sampling,
  withoutToolSearch,
} from '@toolshelf/core/internal'
import type { Fields, MessagesRequest } from './types.ts'
import { withEverythingLoaded } from './wire/lower.ts'

/** Creates a meter. It counts immediately, so that no request stays in memory until its reply ends. */
export function createMeter(request: MessagesRequest, prices: PriceTable | undefined) {
  const { tools: definitions = [] } = withEverythingLoaded(request)
  const charactersWithout = readingOf(withoutToolSearch(request, { definitions })).characters
  const measured = {
    charactersWithout,
    hasCacheMarks: hasCacheMarks(request),
    isContinued: request.messages.some(({ role }) => role === 'assistant'),
    price: priceOf(request.model, prices),
  }
  const samplings: { characters: number; usage: Fields }[] = []
  let characters = 0
  let isNew = false
  let known: Figures | undefined
  return {
    sent(sent: MessagesRequest) {
      known = undefined
      characters = readingOf(sent).characters
      isNew = true
    },
    /** Records the usage that the upstream has reported for the reply; refused requests report none. */
    reported(usage: Fields) {
      known = undefined
      if (isNew) samplings.push({ characters, usage: {} })
      isNew = false
      const last = samplings.at(-1)
      if (last) last.usage = { ...last.usage, ...counted(usage) }
    },
    /** Undefined until the upstream has accepted a request. */
    figures() {
      const billed = ({ characters, usage }: (typeof samplings)[number]): Sampling => ({
        characters,
        billed: billedTokens(usage),
      })
      known ??= figuresOf({ ...measured, samplings: samplings.map(billed) })
      return known
    },
  }
}

/** Drops null counts, which some upstreams send in later events. */
function counted(usage: Fields): Fields {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}
