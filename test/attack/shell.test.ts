// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text
// Attacks on permission rules for shell lines and addresses. What begins with `!!` had another outcome before allow rules
// covered only plain simple commands, and addresses were compared by origin and path.
import { describe, expect, test } from 'vitest'
import { createPermissions } from '../../packages/agent/src/permissions/permissions.ts'

type Outcome = 'runs' | 'asks' | 'refused'
type Group = {
  readonly is: Outcome
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly ask?: readonly string[]
  readonly shell?: string
  readonly of: readonly string[]
}

async function outcomeOf(name: string, input: object, group: Group): Promise<Outcome> {
  let isAsked = false
  const rules = (['allow', 'deny', 'ask'] as const).flatMap((effect) =>
    (group[effect] ?? []).map((rule) => ({ effect, rule, scope: 'session' }) as const),
  )
  const { permission } = createPermissions({
    ...{ directory: '/tmp', shell: group.shell ?? '/bin/bash', rules },
    ask: async () => {
      isAsked = true
      return 'no'
    },
  })
  const verdict = await permission({
    ...{ call: { id: '1', name, input }, server: undefined, signal: new AbortController().signal },
    ...{ isHarmless: false, accesses: [], change: async () => undefined },
  })
  if (isAsked) return 'asks'
  return verdict === true ? 'runs' : 'refused'
}

const every = (groups: readonly Group[]) =>
  groups.flatMap((group) =>
    group.of.map((text) => {
      const { is, allow = [], deny = [], ask = [] } = group
      const rules = [...allow, ...deny.map((rule) => `deny ${rule}`), ...ask.map((rule) => `ask ${rule}`)]
      return { is, text, rules: rules.join(', '), group }
    }),
  )
const unmarked = (text: string) => text.replace(/^!!/, '')

const allowed: readonly Group[] = [
  {
    is: 'runs',
    allow: ['Bash(git status*)'],
    of: ['git status', ' git  status\t-s\n', "git 'status'", 'git sta"tus"'],
  },
  {
    is: 'runs',
    allow: ['Bash(git diff *)'],
    of: ['git diff --stat HEAD -- src/a.ts', 'git diff a=1,b+2 50% @x v1:2'],
  },
  {
    is: 'runs',
    allow: ['Bash(git commit *)'],
    of: ['git commit -m "Don\'t stop, (it) works!"'],
  },
  {
    is: 'runs',
    allow: ['Bash(git commit -m "a b")'],
    of: ["!!git commit -m 'a b'", '!!git commit -m "a b"'],
  },
  { is: 'runs', allow: ['Bash(*)'], of: ['anything here'] },
  { is: 'runs', allow: ['Bash'], of: ['cd x && y > z', '$x'] },
  { is: 'runs', allow: ['Bash(git status*)'], shell: '/bin/sh', of: ['git status'] },
]

const asked: readonly Group[] = [
  {
    is: 'asks',
    allow: ['Bash(git status*)', 'Bash(evil*)', 'Bash(E*)', 'Bash(X=*)', 'Read', 'Edit'],
    of: [
      // Several commands, or one inside another.
      '!!git status; evil',
      '!!git status && evil',
      '!!git status | evil',
      '!!git status & evil',
      '!!git status\nevil',
      'git status $(evil)',
      'git status "$(evil)"',
      'git status `evil`',
      'git status <(evil)',
      '!!(git status)',
      '!!{ git status; }',
      '!!git status || evil',
      '!!git status |& evil',
      'git status <<E\n$(evil)\nE',
      'evil() { git status; }',
      // Files and sockets.
      '!!git status > file',
      '!!git status 2>&1',
      '!!git status < file',
      '!!git status > /dev/null',
      '!!git status > /dev/tcp/host/80',
      '!!git status < /dev/tcp/host/80',
      '!!git status 3<>/dev/udp/host/53',
      '!!git status &> file',
      '!!git status >> ~/.bashrc',
      // What a shell expands, and its own ways of quoting.
      'git status $X',
      'git status "$X"',
      'git status ${X}',
      'git status *',
      'git status a?',
      'git status [ab]',
      'git {status,push}',
      '!!git status ~/x',
      "!!git status '~/x'",
      '!!git status "~root/x"',
      '!!git status a:~/x',
      '!!git status \\~/x',
      'git status ~+',
      "!!git status $'a'",
      'git status $"a"',
      '!!g\\it status',
      '!!git \\\nstatus',
      '!!git status "a\\"b"',
      '!!git status !x',
      '!!git status #x',
      // Something in front of the program.
      'X=1 git status',
      'X=$(evil) git status',
      'X= git status',
      '!!"X=1" git status',
      "'git status'",
      '!!"git" status',
      "'' git status",
      'env X=1 git status',
      'sudo git status',
      './git status',
      '!!! git status',
      'time git status',
      'if git status',
      // Text that people and shells read differently.
      'git status a\u00a0b',
      'git\u2003status',
      "!!git status 'a\u202eb'",
      "!!git status 'a\u200bb'",
      "!!git status 'a\nb'",
      'git status\r',
      '!!git status é',
      "git status 'open",
      'git status "open',
      '',
      '   ',
      `!!git status ${'x'.repeat(5000)}`,
      `!!git status${' x'.repeat(501)}`,
      // An expression that backtracks would not end.
      `git ${'x'.repeat(3900)}$`,
      `git ${'"a"'.repeat(1200)}$`,
    ],
  },
  {
    is: 'asks',
    allow: ['Bash(find *)', 'Bash(sh *)', 'Bash(evil *)'],
    of: [
      'find . -exec evil {} +',
      'find . -exec evil {} \\;',
      "find . -exec evil '{}' +",
      "!!find . -exec evil x ';'",
      "!!find . -execdir sh -c 'evil x' ';'",
      "!!find . -execdir sh -c 'evil x' \\;",
      '!!find . -ok evil x ";"',
      "find . -okdir evil '{}' ';'",
    ],
  },
  { is: 'asks', allow: ['Bash(git a b*)'], of: ["!!git 'a b'", "'git a' b", '!!git "a b" c'] },
  {
    is: 'asks',
    allow: ['Bash(git status*)'],
    of: ['GIT status', 'git push', 'git -c core.pager=evil status', 'npm exec git status', '-x git status'],
  },
  { is: 'asks', allow: ['Bash(git status*)'], shell: '/usr/bin/fish', of: ['git status'] },
  { is: 'asks', allow: ['Bash(git status*)'], shell: '/bin/zsh', of: ['git status', 'git status =ls'] },
  { is: 'asks', allow: ['Bash(git status*)'], shell: '/bin/sh', of: ["git status $'a\\'; evil #'"] },
]

const denied: readonly Group[] = [
  {
    is: 'refused',
    allow: ['Bash'],
    deny: ['Bash(rm *)'],
    of: ['rm x', 'RM x', '/bin/rm x', 'rm  -rf "x y"', "rm 'x'"],
  },
  {
    is: 'asks',
    allow: ['Bash', 'Bash(*)'],
    deny: ['Bash(rm *)'],
    of: [
      '!!a; rm x',
      '!!a $(rm x)',
      '!!r""m x',
      '!!\\rm x',
      "!!$'\\x72m' x",
      '$x y',
      '!!if a; then rm x; fi',
      '!!X=1 rm x',
      '!!"rm" x',
      '!!ls > x',
      // Whatever starts another program: no list of them is needed.
      '!!sudo rm x',
      '!!sudo -u me rm x',
      '!!env A=1 rm x',
      '!!env -S "rm x"',
      '!!nohup rm x',
      '!!xargs rm x',
      '!!time rm x',
      '!!command rm x',
      '!!chrt -i 0 rm x',
      '!!brand-new-launcher rm x',
      '!!npm exec rm x',
      '!!npm exec -- /bin/rm x',
      '!!busybox rm x',
      '!!ssh host "rm x"',
      "!!bash -c 'rm x'",
      '!!bash -c "rm x"',
      "!!sh -c ' rm  x'",
      "!!eval 'rm x'",
      '!!git rm x',
      '!!find . -exec rm x +',
    ],
  },
  {
    is: 'runs',
    allow: ['Bash'],
    deny: ['Bash(rm *)'],
    of: ['ls -l', 'confirm x', 'npm run farm x', 'git rm'],
  },
  { is: 'asks', allow: ['Bash'], ask: ['Bash(git push*)'], of: ['git push', 'env X=1 git push', '$x'] },
  {
    is: 'refused',
    allow: ['Bash'],
    deny: ['Read(.env)'],
    of: [
      'cat .env',
      "cat './.env'",
      'tool --file=.env',
      "bash -c 'cat .env'",
      "bash -c 'cat <.env'",
      '!!scp host:.env x',
      '!!git show HEAD:.env',
      'cat x/../.ENV',
    ],
  },
  {
    is: 'asks',
    allow: ['Bash'],
    deny: ['Read(.env)'],
    of: ['!!cat < .env', '!!cat .e*', '!!cat .e""nv; ls', '!!cat "$x"', `!!cat${' x'.repeat(600)}`],
  },
  { is: 'asks', allow: ['Bash'], deny: ['Edit'], of: ['!!echo x > file', '!!echo x | tee file'] },
  { is: 'runs', allow: ['Bash'], deny: ['Read(.env)', 'Edit(src/**)'], of: ['ls -l', 'cat README.md'] },
]

describe('lines of a shell', () => {
  test.each(every([...allowed, ...asked, ...denied]))(
    '$is, by $rules: $text',
    async ({ is, text, group }) => {
      expect(await outcomeOf('Bash', { command: unmarked(text) }, group)).toBe(is)
    },
  )
})

const addresses: readonly Group[] = [
  {
    is: 'refused',
    allow: ['Fetch'],
    deny: [
      'Fetch(https://bad.com/*)',
      'Fetch(https://good.com/private/*)',
      'Fetch(https://bücher.de/*)',
      'Fetch(https://old.com./*)',
    ],
    of: [
      'https://bad.com/',
      'https://bad.com/a?b#c',
      '!!https://user@bad.com/',
      '!!https://u:p@bad.com/a',
      '!!https://bad.com./',
      '!!https://bad.com../',
      'https://BAD.com/',
      'https://bad.com:443/',
      'https:\\\\bad.com\\x',
      'https:bad.com/x',
      ' https://bad.com/',
      'https://ba%64.com/',
      'https://b\tad.com/',
      'https://@bad.com/',
      'https://ｂａｄ.com/',
      'https://good.com/private/x',
      '!!https://good.com/%70rivate/x',
      'https://good.com/a/../private/x',
      'https://good.com/a/%2e%2e/private/x',
      '!!https://good.com/%2570rivate/x',
      '!!https://good.com/a/..%2fprivate/x',
      'https://good.com/PRIVATE/x',
      '!!https://good.com//private/x',
      '!!https://xn--bcher-kva.de/',
      '!!https://BÜCHER.de/x',
      '!!https://old.com/',
      'https://old.com./x',
      'https://good.com/private\\x',
    ],
  },
  {
    is: 'runs',
    allow: ['Fetch(https://good.com/docs/*)'],
    of: ['https://good.com/docs/a', 'https://good.com:443/docs/a?b', '!!https://GOOD.com./docs/a'],
  },
  {
    is: 'asks',
    allow: ['Fetch(https://good.com/docs/*)', 'Fetch(https://good.com/docs)'],
    of: [
      'https://good.com/docs/../private',
      'https://good.com/docs/%2e%2e/private',
      '!!https://good.com/docs/..%2fprivate',
      '!!https://good.com/docs/..%5cprivate',
      '!!https://good.com/docs/%252e%252e%252fprivate',
      'https://good.com/docs?leak=x',
      'https://good.com@evil.test/docs/',
      'https://evil.test/docs/#https://good.com/docs/',
      'https://good.com.evil.test/docs/a',
      'http://good.com/docs/a',
      'https://good.com:8443/docs/a',
      'https://good.com/DOCS/a',
      'https://good.comdocs/a',
      '!!ftp://good.com/docs/a',
      'https:// good.com/docs/a',
      'good.com/docs/a',
      '',
    ],
  },
  {
    is: 'runs',
    allow: ['Fetch'],
    deny: ['Fetch(https://bad.com/*)'],
    of: ['https://notbad.com/', 'https://bad.com.good.test/', 'http://bad.com/'],
  },
]

describe('addresses', () => {
  test.each(every(addresses))('$is, by $rules: $text', async ({ is, text, group }) => {
    expect(await outcomeOf('Fetch', { url: unmarked(text) }, group)).toBe(is)
  })
})
