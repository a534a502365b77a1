// The journal of moves and what it says about putting a file back, without the command around it.
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  clientEntries,
  commitWrites,
  contentHash,
  type FileWrite,
  isReportable,
  openJournal,
  planApply,
  planConnect,
  planUndo,
  putBack,
  takeSnapshot,
} from '../../src/connect/index.ts'
import { moveServers } from '../../src/mcp/config/index.ts'
import { effects } from '../support/variants.ts'

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
    expect(await planUndo(journal, file, current === undefined ? undefined : Buffer.from(current))).toEqual(
      undoing,
    )
  })

  it('one that is not text, or without a known part, only as a whole', async () => {
    const { journal, file } = await recorded()
    expect(await planUndo(journal, file, Buffer.from([0xff, 0xfe]))).toMatchObject({ kind: 'edited' })
    const unknown = await recorded(Buffer.from(before), [])
    expect(await planUndo(unknown.journal, unknown.file, Buffer.from('{}'))).toMatchObject({
      kind: 'edited',
    })
  })

  it('one that did not exist goes', async () => {
    const { journal, record } = await recorded(undefined)
    const file = { ...record.files[0]!, copy: undefined, before: contentHash(undefined) }
    expect(await planUndo(journal, file, Buffer.from(moved.text))).toEqual({
      kind: 'whole',
      content: undefined,
    })
    expect(await planUndo(journal, file, undefined)).toEqual({ kind: 'done' })
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

/** What is left without an entry for the gateway. */
function bareText(bare: (() => { readonly after: string }) | undefined): string {
  try {
    return JSON.stringify(bare?.().after) ?? 'not without an entry'
  } catch (error) {
    return (error as Error).message
  }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-import-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('the plan', () => {
  const word = (variable: string) => `\${${variable}}`
  const files = {
    cursor: {
      mcpServers: {
        mail: {
          command: './mail',
          args: ['--key', word('env:MAIL_KEY')],
          env: { TOKEN: word('env:TOKEN'), HOME: word('env:HOME') },
        },
        web: { url: 'https://a.example/mcp', headers: { Authorization: `Bearer ${word('env:TOKEN')}` } },
        twin: { command: 'twin', timeout: 5 },
      },
      theme: 'dark',
    },
    code: {
      inputs: [{ id: 'key', type: 'promptString', description: 'The key', password: true }],
      servers: {
        mail: { command: 'other', args: [word('input:key')], cwd: word('workspaceFolder') },
        twin: { type: 'stdio', command: 'twin' },
        toolshelf: { command: 'toolshelf', args: ['mcp'] },
      },
    },
    claude: {
      mcpServers: { web: { command: 'web' }, mail: { command: 'third' } },
      projects: { '/home/me/p': { mcpServers: { own: { command: 'own' } } } },
    },
    ours: { mcpServers: { twin: { command: 'twin' }, web: { command: 'something else' } } },
  }

  /** Plans all files, and how they would change. */
  async function planned({ cursor, code, claude, ours }: typeof files): Promise<string[]> {
    const folder = newFolder()
    const machine = {
      home: folder,
      folder,
      platform: 'linux' as const,
      environment: { HOME: '/home/me', MAIL_KEY: 'x' },
    }
    const save = (name: string, value: unknown) => {
      const file = join(folder, name)
      writeFileSync(file, typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))
      return file
    }
    const places = [
      { client: 'Cursor', file: save('cursor.json', cursor) },
      { client: 'VS Code', file: save('mcp.json', code) },
      { client: 'Claude Code', file: save('.claude.json', claude) },
      { client: 'Codex', file: save('config.toml', '[mcp_servers.fax]\ncommand = "fax"\n') },
      { client: 'Nobody', file: save('empty.json', {}) },
    ]
    symlinkSync(places[0]!.file, join(folder, 'link.json'))
    places.push({ client: 'Windsurf', file: join(folder, 'link.json') })
    const target = { file: join(folder, 'ours.json'), text: JSON.stringify(ours) ?? '{}' }
    const plan = await planConnect(places, machine, target, 'move')
    const snapshots = new Map(
      await Promise.all(places.map(async ({ file }) => [file, await takeSnapshot(file)] as const)),
    )
    const { changes, staying } = planApply(plan, snapshots, ['node', 'toolshelf', 'mcp'])
    const lines = [
      ...plan.servers.map(({ server, state, other, ...rest }) => {
        const beside = other ? ` beside ${other.isOurs ? 'our ' : ''}${other.name}` : ''
        return `${state}${beside} ${JSON.stringify(rest)}`
      }),
      ...plan.problems.map((problem) => `${isReportable(problem) ? '!' : '?'} ${JSON.stringify(problem)}`),
      ...staying.map((one) => `stays ${JSON.stringify(one)}`),
      ...changes.flatMap(({ clients, after, servers, parts, bare }) => [
        `changes ${clients} (${servers.map(({ name }) => name)}) ${parts.length} ${bareText(bare)}`,
        ...after.split('\n').map((line) => `  ${line}`),
      ]),
    ]
    return lines.map((line) => line.replaceAll(folder, '<folder>'))
  }

  // A test for each, so that none takes long.
  it.each(Object.keys(files) as (keyof typeof files)[])(
    'of all files and of every change of one: %s',
    async (name) => {
      const write = (changed: never) => planned({ ...files, [name]: changed })
      await expect(await effects(files[name], write)).toMatchFileSnapshot(`./connect/plan-${name}.txt`)
    },
  )

  it('shows the entry of every client', async () => {
    const clients = [
      'Claude Desktop',
      'VS Code',
      'VS Code Insiders',
      'Cursor',
      'Windsurf',
      'Gemini CLI',
      'Zed',
      'opencode',
      'Codex',
      'Qwen Code',
    ]
    const shown = clientEntries(clients, ['toolshelf', 'mcp', '--config', 'a b'])
    await expect(`${shown.map((one) => `${one.clients}\n${one.text}`).join('\n')}\n`).toMatchFileSnapshot(
      './connect/entries.txt',
    )
  })
})

describe('writing', () => {
  it('leaves alone what changed meanwhile or is protected, and records the rest first', async () => {
    const folder = newFolder()
    const journal = openJournal(join(folder, 'journal'))
    const write = (name: string, content: string | undefined, more: Partial<FileWrite> = {}): FileWrite => {
      const file = join(folder, name)
      if (content !== undefined) writeFileSync(file, content)
      const before = content === undefined ? undefined : Buffer.from(content)
      return {
        file,
        clients: [name],
        isOwn: false,
        parts: [],
        rights: { mode: 0o640, uid: process.getuid!(), gid: process.getgid!() },
        before,
        after: Buffer.from(`${name} new`),
        ...more,
      }
    }
    const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
    const own = write(join('deep', 'own'), undefined, { isOwn: true })
    const late = write('late', 'late', { before: Buffer.from('was') })
    const closed = write('closed', 'closed', { rights: { mode: 0o444, uid: 0, gid: 0 } })
    const missing = write('missing', undefined, { before: Buffer.from('x') })
    const lost = write(join('no', 'folder'), undefined)
    const written = await commitWrites(journal, own, [write('one', 'one'), late, closed, missing, lost])
    expect(written.map(({ write: { clients }, problem }) => [clients[0], problem])).toEqual([
      ['one', undefined],
      ['late', 'it has changed meanwhile; run the command again'],
      ['closed', 'it is read-only; make it writable first'],
      ['missing', 'it has changed meanwhile; run the command again'],
      [join('no', 'folder'), 'it cannot be written (ENOENT)'],
    ])
    expect([textOf('one'), textOf('late'), textOf('closed'), textOf(join('deep', 'own'))]).toEqual([
      ...['one new', 'late', 'closed', `${join('deep', 'own')} new`],
    ])
    expect(statSync(join(folder, 'one')).mode & 0o777).toBe(0o640)
    expect(statSync(own.file).mode & 0o777).toBe(0o600)
    const [record] = await journal.records()
    expect(record?.files.map(({ clients, isOwn }) => [clients[0], isOwn])).toEqual([
      ...[
        [join('deep', 'own'), true],
        ['one', false],
        [join('no', 'folder'), false],
      ],
    ])
    // Nothing to write: nothing is recorded. Our own file changed: nothing is written.
    await commitWrites(journal, undefined, [late])
    await expect(commitWrites(journal, own, [write('two', 'two')])).rejects.toThrow(
      'it has changed meanwhile',
    )
    expect([textOf('two'), (await journal.records()).length]).toEqual(['two', 1])
  })

  it('puts back a content, or none, where nothing changed meanwhile', async () => {
    const folder = newFolder()
    const journal = openJournal(join(folder, 'journal'))
    const file = join(folder, 'sub', 'a.json')
    const rights = { mode: 0o600, uid: process.getuid!(), gid: process.getgid!() }
    await putBack(journal, file, undefined, Buffer.from('one'), rights)
    expect(readFileSync(file, 'utf8')).toBe('one')
    chmodSync(file, 0o644)
    await putBack(journal, file, Buffer.from('one'), Buffer.from('two'), undefined)
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['two', 0o644])
    for (const current of [undefined, Buffer.from('one')])
      await expect(putBack(journal, file, current, undefined, rights)).rejects.toThrow('changed meanwhile')
    await putBack(journal, file, Buffer.from('two'), undefined, rights)
    await expect(putBack(journal, file, Buffer.from('two'), undefined, rights)).rejects.toThrow(
      'changed meanwhile',
    )
    expect(readdirSync(join(folder, 'sub'))).toEqual([])
  })
})
