// `toolshelf config check`: validates the configuration files without starting anything.
import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  ownConfigFile,
  projectConfigFiles,
  readConfig,
  thisMachine,
  userConfigFiles,
} from '../mcp/config/index.ts'
import type { ConfigProblem } from '../mcp/index.ts'
import { readBoundedFile } from '../node/index.ts'
import { printable } from '../terminal/index.ts'
import { type Command, UsageError } from './command.ts'

export const configCommand: Command = {
  name: 'config',
  summary:
    'Checks configuration files without starting anything. In the files of other programs it checks only the servers.',
  words: 'check [<file> …] [--json]',
  options: { json: { type: 'boolean', about: 'print the findings as one JSON document' } },
  examples: [
    'toolshelf config check',
    'toolshelf config check .mcp.json ~/.codex/config.toml',
    'toolshelf config check --json',
  ],
  async run({ words, isSet }, terminal) {
    const [verb, ...given] = words
    if (verb !== 'check') throw new UsageError('unknown action; use "toolshelf config check".')
    const machine = thisMachine()
    const files =
      given.length > 0
        ? given.map((file) => resolve(file))
        : [...userConfigFiles(machine), ...projectConfigFiles(machine)].filter(existsSync)
    const { servers, problems: found } = await readConfig(files)
    const problems = [...found, ...(await encodingProblems(files))]
    if (isSet('json')) {
      const shown = servers.map(({ name, source, disabled }) => ({ name, source, disabled }))
      terminal.print(JSON.stringify({ files, servers: shown, problems }))
    } else if (files.length === 0) {
      terminal.print(
        `No configuration found. "toolshelf connect" creates ${ownConfigFile(machine)} from the configurations of your clients.`,
      )
    } else
      for (const file of files)
        for (const line of linesOf(file, servers, problems)) terminal.print(printable(line))
    return problems.some(isWrong) ? 1 : 0
  },
}

const MAX_BYTES = 64_000_000

/** Returns a problem for each file with bytes that are not UTF-8; a file that cannot be read is reported already. */
async function encodingProblems(files: readonly string[]): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = []
  for (const file of new Set(files)) {
    const bytes = await readBoundedFile(file, MAX_BYTES).catch(() => undefined)
    if (bytes && !isUtf8(bytes))
      problems.push({
        file,
        message: 'it is not written in UTF-8, so some characters are lost. Save it as UTF-8.',
      })
  }
  return problems
}

/** A variable that is not set here may be set where a client starts the gateway. */
const isWrong = ({ unset, kind }: ConfigProblem) => unset === undefined && kind !== 'own-entry'

function linesOf(
  file: string,
  servers: readonly { readonly name: string; readonly source: string }[],
  problems: readonly ConfigProblem[],
): string[] {
  const own = servers.filter(({ source }) => source === file).map(({ name }) => name)
  const ofFile = problems.filter((problem) => problem.file === file)
  const found = ofFile.filter(({ kind }) => kind !== 'own-entry')
  const none = found.length > 0 ? 'no usable server' : ofFile.length > 0 ? 'starts Toolshelf' : 'no servers'
  const state = found.some(isWrong) ? 'wrong  ' : found.length > 0 ? 'unset  ' : 'ok     '
  const usable = found.length > 0 ? 'usable: ' : ''
  return [
    `${state} ${file}: ${own.length > 0 ? `${usable}${own.join(', ')}` : none}`,
    ...found.map(({ server, message }) => `        ${server ? `server "${server}": ` : ''}${message}`),
  ]
}
