// Codex started by `toolshelf serve -- codex`: it finds the gateway's key in a variable, and its request reaches the upstream
// with the key that it would have without a gateway.
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { binary } from '../../packages/testkit/src/binary.ts'
import { codex, prepareCodex } from './codex-agent.ts'
import { makeHome, run } from './gateway.ts'
import { startRecordedScript } from './recorder.ts'

const clients = await prepareCodex()

describe.skipIf(clients.missing)('Codex, started by serve', () => {
  const cases: readonly {
    readonly key: string
    readonly environment: { readonly [name: string]: string }
  }[] = [
    { key: 'from the environment', environment: { OPENAI_API_KEY: 'sk-own' } },
    { key: 'that it has stored', environment: {} },
  ]
  it.each(cases)(
    'answers with the key $key, and nobody sees the one of the gateway',
    async ({ environment }) => {
      const home = makeHome()
      const recorder = await startRecordedScript()
      onTestFinished(() => recorder.stop().then(home.remove))
      home.write('codex/auth.json', { OPENAI_API_KEY: 'sk-own' })
      // All users of the machine can read arguments; nobody else can read variables.
      const agent = home.write(
        'bin/codex',
        `#!/bin/sh
printf '%s\\n' "$@" > ${home.folder}/arguments
printf '%s' "$SHELF_AGENT_KEY" > ${home.folder}/key
exec ${clients.file(codex)} "$@"
`,
      )
      chmodSync(agent, 0o755)
      const env = { ...home.environment, ...environment, CODEX_HOME: join(home.folder, 'codex') }
      const codexWords = [agent, 'exec', '--skip-git-repo-check', '-m', 'gpt-5.2', 'say hello']
      const words = ['serve', '--upstream', `responses:${recorder.url}/v1`, '--', ...codexWords]
      const { code, out, told } = await run(clients.node, [...binary, ...words], { cwd: home.files, env })
      expect(code, told).toBe(0)
      expect(out).toContain('Hello.')
      const key = readFileSync(join(home.folder, 'key'), 'utf8')
      expect(key.length).toBeGreaterThan(20)
      expect(readFileSync(join(home.folder, 'arguments'), 'utf8')).not.toContain(key)
      const [first] = recorder.sent
      expect(first?.request.headers.authorization).toBe('Bearer sk-own')
      expect(JSON.stringify(first?.request)).not.toContain(key)
    },
  )
})
