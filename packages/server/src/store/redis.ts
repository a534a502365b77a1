// Stores shared state in Redis or Valkey: values as strings of a version and a text, Lua scripts for what must not race,
// and PUBLISH/SUBSCRIBE, the latter on a separate connection.
import { createHash } from 'node:crypto'
import { createClient, type RedisClientType } from '@redis/client'
import { type StateStore, type StoredEntry, type StoredValue, StoreError } from '@toolshelf/core/internal'
import { createChannels } from './channels.ts'
import { createVersions, DEFAULT_LISTED, notACounter, withChecks } from './limits.ts'
import { checkRegularly, createLink, type Link } from './link.ts'

type RedisStoreOptions = {
  /** `redis://` or `rediss://` with user, password, host, port and database. */
  readonly url: string
  /** The server's name in errors, without secrets. */
  readonly label: string
  /** Prefix of every key and channel. */
  readonly prefix: string
  /** Milliseconds after which a call fails. */
  readonly timeoutMs: number
}

type Connection = RedisClientType<
  Record<string, never>,
  Record<string, never>,
  Record<string, never>,
  2,
  Record<string, never>
>
type Reply = string | number | null

type Script = { readonly text: string; readonly sha: string }

/** Keys per SCAN, and values per MGET. */
const SCAN_COUNT = 1000
const READ_COUNT = 100

const VERSION_OF = `
local function versionOf(key)
  local head = redis.call('GETRANGE', key, 0, 99)
  return string.match(head, '^([^\\n]*)\\n') or ''
end`

/** ARGV: the version that the value must have, or an empty string for none; the new text; milliseconds or an empty string. */
const SET_IF = script(`${VERSION_OF}
if versionOf(KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`)

/** ARGV: the version that the value must have. */
const DELETE_IF = script(`${VERSION_OF}
if versionOf(KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)

/** ARGV: the amount, the new version, milliseconds. Returns the sum as a string with the fewest digits that represent it. */
const ADD = script(`
local old = redis.call('GET', KEYS[1])
local sum = tonumber(ARGV[1])
if old then
  local number = tonumber(string.match(old, '\\n(.*)$') or '')
  if not number then return false end
  sum = sum + number
end
local text
for digits = 15, 17 do
  text = string.format('%.' .. digits .. 'g', sum)
  if tonumber(text) == sum then break end
end
local entry = ARGV[2] .. '\\n' .. text
if old then redis.call('SET', KEYS[1], entry, 'KEEPTTL') else redis.call('SET', KEYS[1], entry, 'PX', ARGV[3]) end
return text`)

/** Creates a store in Redis, which connects at its first use. */
export function createRedisStore(options: RedisStoreOptions): StateStore {
  const { prefix, label } = options
  const newVersion = createVersions()
  const commands: Link<Connection> = createLink({
    ...options,
    open: (signal, onLost) => connect(options, signal, onLost),
  })
  const { channels, close } = openChannels(options)
  const { send, run, keysFrom } = createCommands(commands, prefix)

  function read(key: string, text: string): StoredValue {
    const end = text.indexOf('\n')
    if (end < 0) throw new StoreError(`${label}: "${prefix}${key}" was not written by Toolshelf; delete it`)
    return { version: text.slice(0, end), value: text.slice(end + 1) }
  }

  return withChecks({
    kind: 'redis',
    async get(key) {
      const text = await send('GET', prefix + key)
      return text === null ? undefined : read(key, String(text))
    },
    async list(start, { limit = DEFAULT_LISTED, after = '' } = {}) {
      const keys = await keysFrom(start, after)
      const entries: StoredEntry[] = []
      for (let from = 0; from < keys.length && entries.length < limit; from += READ_COUNT) {
        const some = keys.slice(from, from + READ_COUNT)
        const texts = await commands.use((connection) => connection.mGet(some.map((key) => prefix + key)))
        for (const [index, key] of some.entries()) {
          const text = texts[index]
          if (typeof text === 'string') entries.push({ key, ...read(key, text) })
        }
      }
      return entries.slice(0, limit)
    },
    async set(key, value, { ttlMs, ifVersion } = {}) {
      const version = newVersion()
      const text = `${version}\n${value}`
      const ttl = ttlMs === undefined ? '' : String(ttlMs)
      if (ifVersion !== undefined)
        return (await run(SET_IF, key, ifVersion ?? '', text, ttl)) === 1 ? version : undefined
      await send('SET', prefix + key, text, ...(ttl === '' ? [] : ['PX', ttl]))
      return version
    },
    async delete(key, { ifVersion } = {}) {
      if (ifVersion === undefined) return (await send('DEL', prefix + key)) === 1
      return (await run(DELETE_IF, key, ifVersion)) === 1
    },
    async add(key, amount, ttlMs) {
      const sum = await run(ADD, key, String(amount), newVersion(), String(ttlMs))
      if (sum === null) throw notACounter(key)
      return Number(sum)
    },
    async publish(channel, message) {
      await send('PUBLISH', prefix + channel, message)
    },
    async subscribe(channel, listener) {
      return channels.subscribe(channel, listener)
    },
    onGap: channels.onGap,
    async ping() {
      await send('PING')
    },
    async close() {
      commands.close()
      close()
    },
  })
}

/** Receives the messages of all channels with listeners, on a separate connection. */
function openChannels(options: RedisStoreOptions) {
  const { prefix } = options
  const dispatch = (message: string, name: string) => channels.dispatch(name.slice(prefix.length), message)
  const subscriber: Link<Connection> = createLink({
    ...options,
    async open(signal, onLost) {
      const connection = await connect(options, signal, onLost)
      const names = channels.names().map((name) => prefix + name)
      if (names.length > 0) await connection.subscribe(names, dispatch)
      return connection
    },
    onReopened: () => channels.reportGap(),
  })
  const channels = createChannels({
    join: (name) => subscriber.use((connection) => connection.subscribe(prefix + name, dispatch)),
    async leave(name) {
      if (subscriber.current()) await subscriber.use((connection) => connection.unsubscribe(prefix + name))
    },
  })
  const stopChecks = checkRegularly(subscriber, () => subscriber.use((connection) => connection.ping()))
  return {
    channels,
    close() {
      stopChecks()
      subscriber.close()
      channels.clear()
    },
  }
}

function createCommands(commands: Link<Connection>, prefix: string) {
  const send = (...args: string[]) => commands.use((connection) => connection.sendCommand<Reply>(args))
  const run = ({ text, sha }: Script, key: string, ...args: string[]) =>
    commands.use(async (connection) => {
      const rest = ['1', prefix + key, ...args]
      try {
        return await connection.sendCommand<Reply>(['EVALSHA', sha, ...rest])
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
        return connection.sendCommand<Reply>(['EVAL', text, ...rest])
      }
    })

  /** Returns all keys with the prefix, sorted. */
  async function keysFrom(start: string, after: string): Promise<string[]> {
    const pattern = `${(prefix + start).replace(/[\\*?[\]]/g, '\\$&')}*`
    const found = new Set<string>()
    let cursor = '0'
    do {
      const next = await commands.use((connection) =>
        connection.scan(cursor, { MATCH: pattern, COUNT: SCAN_COUNT }),
      )
      for (const key of next.keys) found.add(String(key).slice(prefix.length))
      cursor = String(next.cursor)
    } while (cursor !== '0')
    return [...found].filter((key) => key > after).sort()
  }

  return { send, run, keysFrom }
}

async function connect(
  { url, timeoutMs }: RedisStoreOptions,
  signal: AbortSignal,
  onLost: (error: unknown) => void,
): Promise<Connection> {
  const client: Connection = createClient({
    url,
    RESP: 2,
    name: 'toolshelf',
    // The link reconnects.
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    socket: { reconnectStrategy: false, connectTimeout: timeoutMs },
  })
  client.on('error', onLost)
  signal.addEventListener('abort', () => client.destroy(), { once: true })
  await client.connect()
  return client
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
