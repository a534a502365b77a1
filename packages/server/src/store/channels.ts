// Tracks the listeners of each channel in this process, and those of gaps. Subscribes to a channel on the server
// once, however many listeners it has.
import type { MessageListener } from '@toolshelf/core/internal'

/** How a store subscribes to the messages of a channel on its server. */
type ChannelSource = {
  join(channel: string): Promise<void>
  leave(channel: string): Promise<void>
}

type Channel = {
  readonly listeners: Set<MessageListener>
  /** Whether the server sends this channel's messages. */
  isJoined: boolean
  /** Resolves when the last join or leave is done, so that they run one after the other. */
  turn: Promise<void>
}

export function createChannels({ join, leave }: ChannelSource) {
  const channels = new Map<string, Channel>()
  const gapListeners = new Set<() => void>()

  /** Joins or leaves, depending on whether there are listeners now. */
  async function settle(name: string, channel: Channel): Promise<void> {
    const isWanted = channel.listeners.size > 0
    if (isWanted && !channel.isJoined) {
      await join(name)
      channel.isJoined = true
    }
    if (isWanted || channels.get(name) !== channel) return
    if (channel.isJoined) await leave(name).catch(() => {})
    channel.isJoined = false
    if (channel.listeners.size === 0) channels.delete(name)
  }

  function inTurn(name: string, channel: Channel): Promise<void> {
    const done = channel.turn.then(() => settle(name, channel))
    channel.turn = done.catch(() => {})
    return done
  }

  return {
    async subscribe(name: string, listener: MessageListener): Promise<() => Promise<void>> {
      const channel = channels.get(name) ?? {
        listeners: new Set(),
        isJoined: false,
        turn: Promise.resolve(),
      }
      channels.set(name, channel)
      // Wrapped, so that the same listener may subscribe twice.
      const own: MessageListener = (message) => listener(message)
      channel.listeners.add(own)
      const unsubscribe = () => {
        channel.listeners.delete(own)
        return inTurn(name, channel)
      }
      try {
        await inTurn(name, channel)
      } catch (error) {
        await unsubscribe()
        throw error
      }
      return unsubscribe
    },
    /**
     * Passes a message to the listeners asynchronously, one by one: one that throws stops neither the others nor the
     * connection.
     */
    dispatch(name: string, message: string): void {
      for (const listener of channels.get(name)?.listeners ?? [])
        queueMicrotask(() => {
          if (channels.get(name)?.listeners.has(listener)) listener(message)
        })
    },
    /** Returns the channels with listeners, which a new connection must subscribe to. */
    names: (): string[] =>
      [...channels].flatMap(([name, { listeners }]) => (listeners.size > 0 ? [name] : [])),
    onGap(listener: () => void): () => void {
      const own = () => listener()
      gapListeners.add(own)
      return () => void gapListeners.delete(own)
    },
    reportGap(): void {
      for (const listener of gapListeners) queueMicrotask(listener)
    },
    clear(): void {
      channels.clear()
      gapListeners.clear()
    },
  }
}
