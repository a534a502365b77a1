// The journal of moves and what it says about putting a file back, without the command around it.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { contentHash, openJournal, undoingOf } from '../../src/import/index.ts'
import { moveServers } from '../../src/mcp/config/index.ts'

const entry = { name: 'toolshelf', fields: { command: 'toolshelf' } }
const before = '{"mcpServers": {"a": {"command": "x"}}, "theme": "dark"}'
const moved = moveServers(before, [['mcpServers', 'a']], entry)

async function recorded(given: Buffer | undefined = Buffer.from(before), parts = moved.parts) {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-journal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const journal = openJournal(folder)
  const write = { file: '/home/me/.mcp.json', before: given, after: Buffer.from(moved.text), parts }
  const record = await journal.add([write, { ...write, file: '/home/me/other.json' }] as never)
  return { folder, journal, record, file: record.files[0]! }
}

describe('how a file is put back', () => {
  it.each<[string, string | undefined, object]>([
    ['it is as it was', before, { kind: 'done' }],
    ['it is as it was written', moved.text, { kind: 'whole', content: Buffer.from(before) }],
    [
      'it was edited elsewhere',
      moved.text.replace('dark', 'light'),
      { kind: 'servers', content: Buffer.from(before.replace('dark', 'light')) },
    ],
    [
      'its servers were edited',
      moved.text.replace('"toolshelf"}', '"other"}').replace('"toolshelf" }', '"other" }'),
      { kind: 'edited', content: Buffer.from(before) },
    ],
    ['it is no JSON any more', 'nonsense {', { kind: 'edited', content: Buffer.from(before) }],
    ['it was deleted', undefined, { kind: 'edited', content: Buffer.from(before) }],
  ])('%s', async (_, current, undoing) => {
    const { journal, file } = await recorded()
    expect(await undoingOf(journal, file, current === undefined ? undefined : Buffer.from(current))).toEqual(
      undoing,
    )
  })

  it('one that is no text, or of which no part is known, only as a whole', async () => {
    const { journal, file } = await recorded()
    expect(await undoingOf(journal, file, Buffer.from([0xff, 0xfe]))).toMatchObject({ kind: 'edited' })
    const unknown = await recorded(Buffer.from(before), [])
    expect(await undoingOf(unknown.journal, unknown.file, Buffer.from('{}'))).toMatchObject({
      kind: 'edited',
    })
  })

  it('one that did not exist goes', async () => {
    const { journal, record } = await recorded(undefined)
    const file = { ...record.files[0]!, copy: undefined, before: contentHash(undefined) }
    expect(await undoingOf(journal, file, Buffer.from(moved.text))).toEqual({
      kind: 'whole',
      content: undefined,
    })
    expect(await undoingOf(journal, file, undefined)).toEqual({ kind: 'done' })
  })
})

describe('the journal', () => {
  it('keeps copies for the owner alone, and lists the newest record first', async () => {
    const { folder, journal, record, file } = await recorded()
    expect(readFileSync(file.copy ?? '', 'utf8')).toBe(before)
    expect(statSync(file.copy ?? '').mode & 0o777).toBe(0o600)
    const older = { ...record, id: `2000-01-01${record.id.slice(10)}` }
    writeFileSync(join(folder, `${older.id}.json`), JSON.stringify(older))
    expect((await journal.records()).map(({ id }) => id)).toEqual([record.id, older.id])
  })

  it('drops files one by one, with their copies, and the record with the last', async () => {
    const { folder, journal, record } = await recorded()
    const [first, second] = record.files
    const left = await journal.drop(record, [first!])
    expect([left.files, (await journal.records())[0]?.files]).toEqual([[second], [second]])
    expect(readdirSync(folder)).toHaveLength(2)
    expect((await journal.drop(left, [second!])).files).toEqual([])
    expect([await journal.records(), readdirSync(folder)]).toEqual([[], []])
    await journal.drop(left, [second!])
  })

  it('sweeps copies that belong to no record, and nothing else', async () => {
    const { folder, journal, file, record } = await recorded()
    const stray = (file.copy ?? '').replace(record.id, record.id.replace(/^..../, '1999'))
    writeFileSync(stray, 'x')
    writeFileSync(join(folder, 'note.txt'), 'mine')
    const names = readdirSync(folder)
    await journal.sweep()
    expect(readdirSync(folder)).toEqual(names.filter((name) => !stray.endsWith(name)))
    await openJournal(join(folder, 'none')).sweep()
    expect(await openJournal(join(folder, 'none')).records()).toEqual([])
  })

  it('lets one at a time in', async () => {
    const { journal } = await recorded()
    const order: number[] = []
    const use = (number: number) =>
      journal.alone(async () => {
        order.push(number)
        await Promise.resolve()
        order.push(number)
      })
    await Promise.all([use(1), use(2)])
    expect([order[0] === order[1], order[2] === order[3]]).toEqual([true, true])
    await expect(journal.alone(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await journal.alone(async () => 5)).toBe(5)
  })
})
