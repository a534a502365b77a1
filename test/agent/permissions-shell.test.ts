// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text
// Shell lines as permission rules see them: every simple command is found, and nothing that is hidden is ever allowed.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPermissions } from '../../src/agent/index.ts'
import { readShell } from '../../src/agent/permissions/shell.ts'
import { runs } from '../support/runs.ts'

const commandsIn = (text: string) => readShell(text).commands.map(({ words }) => words.join(' '))

describe('simple commands', () => {
  test.each([
    ['git status', ['git status']],
    ['git  status\t-s', ['git status -s']],
    ['a; b && c || d | e & f', ['a', 'b', 'c', 'd', 'e', 'f']],
    ['a\nb\n\nc', ['a', 'b', 'c']],
    ['a |& b', ['a', 'b']],
    ['git \'sta\'"tus"', ['git status']],
    ['g\\it st\\atus', ['git status']],
    ['git \\\n  status', ['git status']],
    ["$'\\x67it' $'\\163tatus'", ['git status']],
    ['echo "a; b" \'c && d\'', ['echo a; b c && d']],
    ['echo a # ; evil', ['echo a']],
    ['echo a#b', ['echo a#b']],
    ['{ a; b; }', ['a', 'b']],
    ['(a; (b))', ['a', 'b']],
    ['! a', ['a']],
    ["cat <<'E'\n$(evil)\nE\nb", ['cat', 'b']],
    ['cat <<-E\n\tplain\n\tE\nb', ['cat', 'b']],
    ['cat <<< word; b', ['cat', 'b']],
    ['a 2>&1 >/dev/null', ['a']],
    ['timeout 5 a b', ['timeout 5 a b', 'a b']],
    ['nohup a', ['nohup a', 'a']],
    ["bash -c 'a; b'", ['bash -c a; b', 'a', 'b']],
    ['env a', ['env a', 'a']],
  ])('%j is certain', (text, commands) => {
    const reading = readShell(text)
    expect(reading.commands.map(({ words }) => words.join(' '))).toEqual(commands)
    expect(reading.isCertain).toBe(true)
  })

  test.each([
    'a $(evil)',
    'a "$(evil)"',
    'a `evil`',
    'a "`evil`"',
    'a <(evil)',
    'a >(evil)',
    'a ${x:-$(evil)}',
    'a $((1 + $(evil)))',
    'a $(b $(evil))',
    'a "$(b "$(evil)")"',
    'cat <<E\n$(evil)\nE',
    'x=$(evil) a',
    'if a; then evil; fi',
    'for x in a b; do evil; done',
    'while evil; do a; done',
    'case x in x) evil ;; esac',
    'f() { evil; }; f',
    'eval evil',
    "eval 'a; evil'",
    'trap evil EXIT',
    'a <<E; evil\nE',
    'a &> x; evil',
    'find . -exec evil {} \\;',
    'exec evil',
    'command evil',
    "sh -c 'sh -c evil'",
    "bash -lc 'evil'",
    'sudo evil',
    'a\u00a0b; evil',
    "$'\\u0065vil' x",
    "$'\\x65vil' x",
    "$'\\145vil' x",
    'jobs -x evil',
  ])('what runs is found in %j', (text) => {
    const { commands, suspects } = readShell(text)
    expect([...commands, ...suspects].map(({ words }) => words[0])).toContain('evil')
  })

  test.each([
    'sudo -u me evil x',
    'env X=1 evil x',
    'env -i evil x',
    'xargs -n 1 evil x',
    'timeout -k 5 10 evil x',
    'nice -n 5 evil x',
    'ssh host evil x',
    "ssh host 'evil x'",
    "su -c 'evil x'",
    'watch evil x',
  ])('what may run is suspected in %j, and nothing is certain', (text) => {
    const { commands, suspects, isCertain } = readShell(text)
    expect([...commands, ...suspects].map(({ words }) => words.join(' '))).toContain('evil x')
    expect(isCertain).toBe(false)
  })

  test.each([
    ['a *.txt'],
    ['a ?'],
    ['a [ab]'],
    ['a {b,c}'],
    ['{a,b}'],
    ['a $x'],
    ['$x a'],
    ['a "$x"'],
    ['X=1 a'],
    ['X=1'],
    ["a 'unclosed"],
    ['a "unclosed'],
    ['a $(unclosed'],
    ['a `unclosed'],
    ['(a'],
    ['a)'],
    ['a <<E\nno end'],
    ['a >'],
    ['"a b" c'],
    ["''"],
    ['a\rb'],
    ['bash script.sh'],
    ['bash'],
    ['. file'],
    ['export A=b'],
    ["printf -v 'a[$(evil)]' x"],
    ["test -v 'a[b]'"],
    ['find . -delete'],
    ['a > ~root/x'],
    ['time a'],
    ['a ~root/x'],
    ['a ~+/x'],
    ['a\\'],
    ['gi\\\nt status'],
    ['a 2\\\n>&1'],
    ['a "$\\\nHOME"'],
    ['((a))'],
    ["$'a\\0b' c"],
    ["$'\\u00e9'"],
    ['a >&"b"'],
    ["sh -c $'echo $\\'a\\\\\\'; evil #\\''"],
    ["fish -c 'a'"],
    ["zsh -c 'a'"],
    ['jobs -x a'],
    [''],
    ['   '],
    ['# only'],
    ['x'.repeat(30_000)],
    [`${'('.repeat(100)}a${')'.repeat(100)}`],
    [`a ${'$('.repeat(100)}b${')'.repeat(100)}`],
  ])('%j leaves doubt', (text) => {
    expect(readShell(text).isCertain).toBe(false)
  })

  test.each([
    ['a > x', [{ kind: 'write', path: 'x' }]],
    ['a >> "x y"', [{ kind: 'write', path: 'x y' }]],
    ['a >| x', [{ kind: 'write', path: 'x' }]],
    ['a 2> x', [{ kind: 'write', path: 'x' }]],
    ['a &> x', [{ kind: 'write', path: 'x' }]],
    ['a >& x', [{ kind: 'write', path: 'x' }]],
    ['a <> x', [{ kind: 'write', path: 'x' }]],
    ['a < x', [{ kind: 'read', path: 'x' }]],
    ['> x', [{ kind: 'write', path: 'x' }]],
    ["bash -c 'a > x'", [{ kind: 'write', path: 'x' }]],
    ['a 2>&1 <&- >&2', []],
  ])('redirections of %j', (text, redirections) => {
    expect(readShell(text).redirections).toEqual(redirections)
  })

  test.each(['sudo -x ', 'xargs ', 'find -exec ', "bash -c '", '$(', '`', '${x:-', '"$(', 'a <<E\n', "$'\\"])(
    '%j without end is no certain command, and ends',
    (piece) => {
      const { isCertain, suspects } = readShell(`${piece.repeat(3000).slice(0, 19_000)} evil`)
      expect(isCertain).toBe(false)
      expect(suspects.length).toBeLessThan(50_000)
    },
  )
})

const folder = '/tmp'

async function verdictOn(
  command: string,
  rules: readonly string[],
  deny: readonly string[] = [],
  shell = '/bin/bash',
) {
  const { permission } = createPermissions({
    directory: folder,
    shell,
    rules: [
      ...rules.map((rule) => ({ effect: 'allow', rule, scope: 'session' }) as const),
      ...deny.map((rule) => ({ effect: 'deny', rule, scope: 'session' }) as const),
    ],
  })
  return permission({
    call: { id: '1', name: 'Bash', input: { command } },
    server: undefined,
    signal: new AbortController().signal,
    isHarmless: false,
    accesses: [],
    change: async () => undefined,
  })
}

describe('rules for Bash', () => {
  test.each([
    'git status',
    'git status -s',
    'git status; git status',
    'git status && git status | git status',
    "git 'status'",
    'git status 2>&1',
    'git status > /dev/null',
    'git status < file-in-the-folder',
    '(git status)',
    "bash -c 'git status'",
  ])('git status* allows %j', async (command) => {
    expect(await verdictOn(command, ['Bash(git status*)', 'Bash(bash -c git status*)'])).toBe(true)
  })

  test.each([
    'git push',
    'git status; evil',
    'git status && evil',
    'git status || evil',
    'git status | evil',
    'git status & evil',
    'git status\nevil',
    'git status $(evil)',
    'git status `evil`',
    'git status <(evil)',
    'git status > file',
    'git status > ~/.bashrc',
    'git status < /etc/passwd',
    'git status < /dev/tcp/host/80',
    'X=1 git status',
    'env X=1 git status',
    'sudo git status',
    "bash -c 'git status; evil'",
    'git status $X',
    'git status *',
    'git {status,push}',
    './git status',
    '"git status"',
    'git status <<E\n$(evil)\nE',
    'git() { evil; }; git status',
    'cd / && git status > etc',
    'eval git status',
    "git status '$(evil)'",
  ])('git status* does not allow %j', async (command) => {
    expect(await verdictOn(command, ['Bash(git status*)', 'Bash(cd *)', 'Edit(etc)'])).toMatch(/Nobody/)
  })

  test('a file that is written to must be allowed as an edit', async () => {
    expect(await verdictOn('git log > out/log.txt', ['Bash(git log*)', 'Edit(out/**)'])).toBe(true)
    expect(await verdictOn('git log > .git/hooks/x', ['Bash(git log*)', 'Edit(**)'])).toMatch(/Nobody/)
  })

  test.each([
    'rm x',
    'a; rm x',
    'a $(rm x)',
    'a "`rm x`"',
    'a <(rm x)',
    "bash -c 'rm x'",
    'sudo rm x',
    'sudo -u me rm x',
    'env A=1 rm x',
    'X=1 rm x',
    '/bin/rm x',
    '\\rm x',
    'r""m x',
    "$'\\x72m' x",
    'RM x',
    'if a; then rm x; fi',
    'find . -exec rm x \\;',
    'a | xargs rm x',
    'cat <<E\n$(rm x)\nE',
    'a &\nrm x',
    ...['\\time rm x', '/usr/bin/time -v rm x', 'command time rm x', 'taskset 1 rm x', 'setarch -R rm x'],
    ...['chrt -i 0 rm x', 'prlimit --cpu=1 rm x', 'unshare -r rm x', 'nsenter -a rm x', 'setpriv rm x'],
    ...['fakeroot rm x', 'ssh-agent rm x', 'dbus-run-session -- rm x', 'xvfb-run rm x', 'valgrind rm x'],
    ...['toybox rm x', 'pkexec rm x', 'logsave log rm x', 'sg root "rm x"', 'expect -c "rm x"'],
  ])('deny rm * refuses %j, though all of Bash is allowed', async (command) => {
    expect(await verdictOn(command, ['Bash'], ['Bash(rm *)'])).toMatch(
      /Refused by the permission rule "deny Bash\(rm \*\)" of this session/,
    )
  })

  test('a launcher is allowed only with what it launches', async () => {
    const allow = ['Bash(time *)', 'Bash(/usr/bin/time *)', 'Bash(ls*)']
    expect(await verdictOn('/usr/bin/time ls', allow)).toBe(true)
    expect(await verdictOn('/usr/bin/time rm x', allow)).toMatch(/Nobody/)
    expect(await verdictOn('\\time rm x', allow)).toMatch(/Nobody/)
  })

  test('with such a rule, asks about uncertain commands although all of Bash is allowed', async () => {
    expect(await verdictOn('$x y', ['Bash'], ['Bash(rm *)'])).toMatch(/Nobody/)
    expect(await verdictOn('$x y', ['Bash'])).toBe(true)
    expect(await verdictOn('ls -l', ['Bash'], ['Bash(rm *)'])).toBe(true)
  })
})

test('where another shell than bash runs commands, what it reads in its own way asks', async () => {
  const line = "git status $'a\\'; evil #'"
  expect(await verdictOn(line, ['Bash(git status*)'])).toBe(true)
  expect(await verdictOn(line, ['Bash(git status*)'], [], '/bin/sh')).toMatch(/Nobody/)
  expect(await verdictOn('git status', ['Bash(git status*)'], [], '/bin/sh')).toBe(true)
  expect(await verdictOn('git status', ['Bash(git status*)'], [], '/usr/bin/fish')).toMatch(/Nobody/)
})

/** Ways to hide a command in a line that is otherwise allowed. */
const hiding: readonly ((inner: string) => string)[] = [
  (inner) => `good; ${inner}`,
  (inner) => `good && ${inner}`,
  (inner) => `good || ${inner}`,
  (inner) => `good | ${inner}`,
  (inner) => `good & ${inner}`,
  (inner) => `good\n${inner}`,
  (inner) => `good $(${inner})`,
  (inner) => `good "$(${inner})"`,
  (inner) => `good <(${inner})`,
  (inner) => `good \${x:-$(${inner})}`,
  (inner) => `(${inner})`,
  (inner) => `{ ${inner}; }`,
  (inner) => `good <<E\n$(${inner})\nE`,
  (inner) => `if good; then ${inner}; fi`,
  (inner) => `bash -c ${quoted(inner)}`,
  (inner) => `eval ${quoted(inner)}`,
  (inner) => `env bash -c ${quoted(inner)}`,
  (inner) => `sudo bash -c ${quoted(inner)}`,
  (inner) => `good \\\n; ${inner}`,
  (inner) => `X=$(${inner}) good`,
]

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

const rules = ['Bash(good*)', 'Bash(bash *)', 'Bash(env *)', 'Bash(sudo *)', 'Bash(eval *)']

test('property: however a command is hidden, the line is not allowed, and a rule against it refuses it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...hiding), { maxLength: 5 }), async (ways) => {
      const line = ways.reduce((inner, way) => way(inner), 'evil now')
      expect(await verdictOn(line, rules), line).not.toBe(true)
      expect(await verdictOn(line, ['Bash'], ['Bash(evil*)']), line).not.toBe(true)
    }),
    { numRuns: runs(200) },
  )
})

const pieces = [
  ...[
    'good',
    'good ',
    'evil',
    'evil ',
    ' ',
    '\n',
    ';',
    '&',
    '&&',
    '|',
    '||',
    '(',
    ')',
    '{ ',
    '}',
    '$(',
    '`',
    '"',
    "'",
  ],
  ...[
    '\\',
    '$',
    '<',
    '>',
    '>>',
    '<<',
    '<<<',
    '<(',
    '<<E\n',
    '\nE\n',
    '#',
    '!',
    '=',
    'x=',
    '~',
    '*',
    '[',
    ']',
    '{',
    ',',
  ],
  ...[
    "$'",
    '\\x65',
    '${',
    '${x:-',
    '-c ',
    'bash ',
    'eval ',
    'env ',
    'if ',
    'then ',
    'fi',
    'for ',
    'do ',
    'done',
    '\t',
    '2>',
  ],
  ...[
    '/dev/null',
    'E',
    '$((',
    '))',
    '\\\n',
    'command ',
    'exec ',
    'printf -v ',
    'case ',
    ' in ',
    ';;',
    'esac',
    '-',
  ],
]

const RUNS = runs(600)

test.skipIf(process.platform === 'win32')(
  'property: whatever bash makes of a line that is allowed, only what is allowed runs',
  async () => {
    const place = mkdtempSync(join(tmpdir(), 'toolshelf-shell-'))
    for (const name of ['good', 'evil']) {
      const mark = name === 'evil' ? `echo ran > "${place}/ran"` : 'exit 0'
      writeFileSync(join(place, name), `#!/bin/sh\n${mark}\n`)
      chmodSync(join(place, name), 0o755)
    }
    const known = readdirSync(place).sort()
    let ran = 0
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }),
          fc.boolean(),
          async (parts, isPlain) => {
            const line = `${isPlain ? 'good ' : ''}${parts.join('')}`
            if ((await verdictOn(line, ['Bash(good*)', 'Bash(bash -c *)', 'Bash(env *)'])) !== true) return
            ran++
            spawnSync('/bin/bash', ['-c', line], {
              cwd: place,
              env: { PATH: `${place}` },
              timeout: 5000,
              stdio: 'ignore',
            })
            expect(existsSync(join(place, 'ran')), JSON.stringify(line)).toBe(false)
            expect(readdirSync(place).sort(), JSON.stringify(line)).toEqual(known)
          },
        ),
        { numRuns: RUNS },
      )
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
    expect(ran).toBeGreaterThan(RUNS / 100)
  },
  600_000,
)

test('property: no text makes it throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join('')),
      ),
      (text) => {
        readShell(text)
        commandsIn(text)
      },
    ),
    { numRuns: runs(1000) },
  )
})

test.each([
  ['words', `cat ${Array.from({ length: 600 }, (_, index) => `f${index}`).join(' ')} .env`],
  ['text', `cat ${'x'.repeat(21_000)} .env`],
])('a line with too much %s to read asks where a rule forbids a file', async (_, command) => {
  expect(await verdictOn(command, ['Bash'])).toBe(true)
  expect(await verdictOn(command, ['Bash'], ['Read(.env)'])).toMatch(/Nobody/)
})
