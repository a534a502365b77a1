// Merges events from concurrent producers into one ordered async iterator.

/** An async iterator that producers push items into. */
type Channel<Item> = AsyncIterable<Item> & {
  readonly push: (item: Item) => void
  readonly close: () => void
}

/** Creates an open channel; iteration ends once it is closed and empty. */
export function createChannel<Item>(): Channel<Item> {
  const items: Item[] = []
  let isClosed = false
  let wake = () => {}
  return {
    push(item) {
      items.push(item)
      wake()
    },
    close() {
      isClosed = true
      wake()
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        yield* items.splice(0)
        if (items.length > 0) continue
        if (isClosed) return
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
