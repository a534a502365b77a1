// Creates and upgrades the tables of a store in Postgres. Several replicas may do so at the same time.
import type { Pool, PoolClient } from 'pg'
import { StoreError } from './types.ts'

/** Statements by version; a released version never changes. `SCHEMA` is replaced by the schema's name. */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `create table SCHEMA.entries (
      key text collate "C" primary key,
      value text not null,
      version text not null,
      expires_at timestamptz
    )`,
    'create index entries_expires_at on SCHEMA.entries (expires_at) where expires_at is not null',
    // Messages that are too long for NOTIFY. Unlogged: subscribers see a loss by a crash as a gap like any other.
    `create unlogged table SCHEMA.messages (
      id bigint generated always as identity primary key,
      body text not null,
      expires_at timestamptz not null
    )`,
    'create index messages_expires_at on SCHEMA.messages (expires_at)',
  ],
]

/** Names that need no quotes and leave room for a channel's hash. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,29}$/

/** Throws for an invalid schema name. */
export function checkSchema(schema: string): void {
  if (!SCHEMA_NAME.test(schema))
    throw new StoreError(
      `invalid schema "${schema}": expected up to 30 lower-case letters, digits and underscores, such as toolshelf`,
    )
}

/** Upgrades the schema to the newest version. Needs the right to create it only if it is missing or old. */
export async function migrate(pool: Pool, schema: string, label: string): Promise<void> {
  const { rows } = await pool.query<{ server_encoding: string }>('show server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8')
    throw new StoreError(`${label}: the database has the encoding ${encoding}; create one with UTF8`)
  if (isNewest(await versionOf(pool, schema), label)) return
  const client = await pool.connect()
  try {
    await client.query('begin')
    await upgrade(client, schema, label)
    await client.query('commit')
    client.release()
  } catch (error) {
    // Closes the connection, and with it the transaction and its lock.
    client.release(true)
    throw error
  }
}

async function upgrade(client: PoolClient, schema: string, label: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`toolshelf ${schema}`])
  // Without the check, a user who may not create schemas could not use one that an administrator created.
  const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema])
  if (rowCount === 0) await client.query(`create schema ${schema}`)
  await client.query(
    `create table if not exists ${schema}.migrations (version int primary key, applied_at timestamptz default now())`,
  )
  const from = (await versionOf(client, schema)) ?? 0
  if (isNewest(from, label)) return
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index < from) continue
    for (const statement of statements) await client.query(statement.replaceAll('SCHEMA', schema))
    await client.query(`insert into ${schema}.migrations (version) values ($1)`, [index + 1])
  }
}

async function versionOf(client: Pick<Pool, 'query'>, schema: string): Promise<number | undefined> {
  const found = await client.query('select to_regclass($1) as name', [`${schema}.migrations`])
  if (found.rows[0]?.name === null) return undefined
  const { rows } = await client.query(`select max(version) as version from ${schema}.migrations`)
  return rows[0]?.version ?? undefined
}

function isNewest(version: number | undefined, label: string): boolean {
  if (version !== undefined && version > MIGRATIONS.length)
    throw new StoreError(
      `${label}: the tables have version ${version}, this Toolshelf knows up to ${MIGRATIONS.length}; upgrade Toolshelf`,
    )
  return version === MIGRATIONS.length
}
