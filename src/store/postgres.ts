// Stores shared state in Postgres: one table of values, upserts for what must not race, LISTEN and NOTIFY for messages.
import { Pool, type PoolClient, type PoolConfig, type QueryResultRow } from 'pg'
import { createCalls } from './calls.ts'
import { createVersions, DEFAULT_LISTED, notACounter, withChecks } from './limits.ts'
import { closedError } from './link.ts'
import { createPostgresBus } from './postgres-bus.ts'
import { checkSchema, migrate } from './postgres-schema.ts'
import { fromText, toText } from './postgres-text.ts'
import type { StateStore } from './types.ts'

/** Options of `createPostgresStore`. */
export type PostgresStoreOptions = {
  /** `postgres://` with user, password, host, port and database, and `sslmode` where needed. */
  readonly url: string
  /** The server's name in errors, without secrets. */
  readonly label: string
  /** The schema that contains the tables. */
  readonly schema: string
  /** Milliseconds after which a call fails. */
  readonly timeoutMs: number
}

type Row = { readonly key: string; readonly value: string; readonly version: string }
type Parameter = string | number | null

const CONNECTIONS = 8
const SWEEP_MS = 60_000
/** Most rows that one sweep deletes, so that it never blocks others for long. */
const SWEPT_ROWS = 5000
/** Sorts after every key with a prefix. */
const LAST = '\u{10ffff}'.repeat(4)
const UNDEFINED_TABLE = new Set(['42P01', '3F000'])
const NOT_A_NUMBER = '22P02'

/** Creates a store in Postgres, which connects at its first use. */
export function createPostgresStore(options: PostgresStoreOptions): StateStore {
  checkSchema(options.schema)
  const newVersion = createVersions()
  const database = openPool(options)
  const { call, prepare, query, close } = createQueries(options, database.pool)
  const bus = createPostgresBus({ ...options, config: database.config, pool: database.pool, prepare })
  const sweeper = setInterval(() => {
    for (const name of ['sweepEntries', 'sweepMessages'] as const) query(name).catch(() => {})
  }, SWEEP_MS)
  sweeper.unref()

  return withChecks({
    kind: 'postgres',
    async get(key) {
      const [row] = await query<Row>('get', toText(key))
      return row && { value: fromText(row.value), version: row.version }
    },
    async list(prefix, { limit = DEFAULT_LISTED, after = '' } = {}) {
      const rows = await query<Row>('list', toText(prefix), toText(prefix) + LAST, toText(after), limit)
      return rows.map(({ key, value, version }) => ({ key: fromText(key), value: fromText(value), version }))
    },
    async set(key, value, { ttlMs, ifVersion } = {}) {
      const version = newVersion()
      const entry = [toText(key), toText(value), version, ttlMs ?? null] as const
      if (ifVersion === undefined) await query('set', ...entry)
      else {
        const rows = await (ifVersion === null
          ? query('create', ...entry)
          : query('replace', ...entry, ifVersion))
        if (rows.length === 0) return undefined
      }
      return version
    },
    async touch(key, ttlMs) {
      return (await query('touch', toText(key), ttlMs)).length > 0
    },
    async delete(key, { ifVersion } = {}) {
      const [row] = await query<{ is_alive: boolean }>('delete', toText(key), ifVersion ?? null)
      return row?.is_alive ?? false
    },
    async add(key, amount, ttlMs) {
      try {
        const rows = await query<Row>('add', toText(key), String(amount), newVersion(), ttlMs)
        return Number(rows[0]?.value)
      } catch (error) {
        throw codeOf((error as Error).cause) === NOT_A_NUMBER ? notACounter(key) : error
      }
    },
    async publish(channel, message) {
      await call(() => bus.publish(channel, message))
    },
    async subscribe(channel, listener) {
      return call(() => bus.subscribe(channel, listener))
    },
    onGap: bus.onGap,
    async ping() {
      await query('ping')
    },
    async close() {
      close()
      clearInterval(sweeper)
      bus.close()
      database.close()
    },
  })
}

/** Runs statements after creating the tables. */
function createQueries(options: PostgresStoreOptions, pool: Pool) {
  const { schema, label } = options
  const call = createCalls(options)
  const sql = statementsFor(schema)
  let ready: Promise<void> | undefined
  let isClosed = false

  function prepare(): Promise<void> {
    ready ??= migrate(pool, schema, label).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }

  /** Runs a statement; creates the tables again, once, if they were dropped. */
  async function attempt<Found extends QueryResultRow>(
    name: keyof typeof sql,
    values: readonly Parameter[],
    isSecond = false,
  ): Promise<Found[]> {
    await prepare()
    try {
      const { rows } = await pool.query<Found>({ name, text: sql[name], values: [...values] })
      return rows
    } catch (error) {
      if (isSecond || !UNDEFINED_TABLE.has(codeOf(error))) throw error
      ready = undefined
      return attempt(name, values, true)
    }
  }

  async function query<Found extends QueryResultRow>(
    name: keyof typeof sql,
    ...values: readonly Parameter[]
  ): Promise<Found[]> {
    if (isClosed) throw closedError(label)
    return call(() => attempt<Found>(name, values))
  }

  return {
    call,
    prepare,
    query,
    close() {
      isClosed = true
    },
  }
}

/** Creates a pool that opens connections as needed. `close` does not wait for answers. */
function openPool({ url, timeoutMs }: PostgresStoreOptions) {
  const config: PoolConfig = {
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'toolshelf',
    keepAlive: true,
  }
  const pool = new Pool({ ...config, max: CONNECTIONS })
  const clients = new Set<PoolClient>()
  // The pool replaces a broken idle connection; if that fails, the next call reports it.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    clients.add(client)
    client.on('error', () => {})
  })
  pool.on('remove', (client) => clients.delete(client))
  return {
    config,
    pool,
    close() {
      pool.end().catch(() => {})
      for (const client of clients) client.connection.stream.destroy()
    },
  }
}

function statementsFor(schema: string) {
  const entries = `${schema}.entries`
  const isAlive = '(e.expires_at is null or e.expires_at > now())'
  const expiry = (parameter: string) => `now() + ${parameter}::float8 * interval '1 millisecond'`
  const insert = `insert into ${entries} as e (key, value, version, expires_at) values ($1, $2, $3, ${expiry('$4')})`
  const overwrite = 'value = excluded.value, version = excluded.version, expires_at = excluded.expires_at'
  const sweep = (table: string) => `delete from ${table} where ctid in (
    select ctid from ${table} where expires_at < now() limit ${SWEPT_ROWS} for update skip locked)`
  return {
    ping: 'select 1',
    get: `select value, version from ${entries} e where key = $1 and ${isAlive}`,
    list: `select key, value, version from ${entries} e
      where key >= $1 and key <= $2 and key > $3 and ${isAlive} order by key limit $4`,
    set: `${insert} on conflict (key) do update set ${overwrite}`,
    create: `${insert} on conflict (key) do update set ${overwrite} where not ${isAlive} returning 1`,
    replace: `update ${entries} e set value = $2, version = $3, expires_at = ${expiry('$4')}
      where key = $1 and version = $5 and ${isAlive} returning 1`,
    touch: `update ${entries} e set expires_at = ${expiry('$2')} where key = $1 and ${isAlive} returning 1`,
    delete: `delete from ${entries} e where key = $1 and ($2::text is null or version = $2)
      returning ${isAlive} as is_alive`,
    add: `${insert} on conflict (key) do update set
      value = case when ${isAlive} then (e.value::float8 + excluded.value::float8)::text else excluded.value end,
      expires_at = case when ${isAlive} then e.expires_at else excluded.expires_at end,
      version = excluded.version returning value`,
    sweepEntries: sweep(entries),
    sweepMessages: sweep(`${schema}.messages`),
  } as const
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}
