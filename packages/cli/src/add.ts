// `toolshelf add`: adds a server to our own configuration without an editor.
import { isAbsolute, resolve } from 'node:path'
import { type Fields, MAX_SLUG_LENGTH, slugOf } from '@toolshelf/core/internal'
import {
  addServers,
  describeTransport,
  expand,
  keepReferences,
  type LocalMachine,
  ownConfigFile,
  readServer,
  thisMachine,
} from '@toolshelf/mcp/internal'
import { type Command, CommandError, type Input, type Terminal, UsageError } from './command.ts'
import { editFile, fileIn, fileOption } from './servers/own-servers.ts'
import { printable } from './terminal/pen.ts'

export const add: Command = addCommand(thisMachine)

/** Creates the command; `machine` is read when it runs. */
export function addCommand(machine: () => LocalMachine): Command {
  return {
    name: 'add',
    summary: 'Adds an MCP server to your configuration; a running gateway starts it at once.',
    words: '<name> <url> | <name> -- <command> [<argument> …]',
    options: {
      env: {
        short: 'e',
        isMultiple: true,
        value: 'variable',
        about: 'KEY=value for the command; KEY alone refers to the one of your environment',
      },
      header: {
        short: 'H',
        isMultiple: true,
        value: 'header',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as users write it
        about: "'Name: value' for the URL; ${NAME} in it refers to a variable",
      },
      ...fileOption,
    },
    examples: [
      'toolshelf add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes',
      'toolshelf add github -e GITHUB_PERSONAL_ACCESS_TOKEN -- npx -y @modelcontextprotocol/server-github',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference as users write it
      "toolshelf add docs https://docs.test/mcp -H 'Authorization: Bearer ${KEY}'",
    ],
    run: (input, terminal) => run(input, terminal, machine()),
  }
}

async function run(input: Input, terminal: Terminal, machine: LocalMachine): Promise<0> {
  const [given = '', ...words] = input.words
  const name = given.trim()
  if (name === '' || words.length === 0)
    throw new UsageError('pass a name and a URL, or a name, "--" and a command.')
  if (/\p{Cc}/u.test(name)) throw new UsageError('a name must not contain control characters.')
  const file = fileIn(input, machine)
  const fields = fieldsIn(input, words, machine)
  const entry = {
    name,
    path: [],
    source: fields,
    fields,
    base: machine.folder,
    project: undefined,
    inputs: {},
  }
  const { server, problems } = readServer(entry, file, machine, keepReferences)
  if (!server || problems.length > 0)
    throw new UsageError(`the server cannot be added: ${problems.map(withoutConsequence).join(' ')}`)
  let isFirst = false
  await editFile(file, ({ text, names }) => {
    isFirst = names.length === 0
    if (names.includes(name))
      throw new CommandError(
        `${file} has a server named ${JSON.stringify(name)} already. Choose another name, or first run "toolshelf remove ${name}".`,
      )
    return addServers(text, [[name, fields]])
  })
  terminal.print(printable(`Added ${name} (${describeTransport(server.transport)}) to ${file}.`))
  const slug = slugOf(name)
  if (slug !== name)
    terminal.report(
      printable(
        `Everywhere else it is called ${slug}, as in ${slug}__list: a server's name has at most ${MAX_SLUG_LENGTH} letters, digits, "_" and "-", and no "__".`,
      ),
    )
  if (isFirst) {
    const args = JSON.stringify(['mcp', ...(file === ownConfigFile(machine) ? [] : ['--config', file])])
    terminal.report(
      printable(
        `Your clients reach it through the gateway: { "mcpServers": { "toolshelf": { "command": "toolshelf", "args": ${args} } } }`,
      ),
    )
  }
  for (const variable of unsetIn(fields, machine))
    terminal.report(
      printable(`${name} needs the environment variable ${variable}; set it where your clients start.`),
    )
  return 0
}

/** Cuts off what a configuration problem says about the server's fate: here it was not added yet. */
function withoutConsequence(problem: string): string {
  return problem.replace(/[;.] (?:the server|it) is left out\.$/i, '.')
}

function fieldsIn(input: Input, words: readonly string[], machine: LocalMachine): Fields {
  const [first = '', ...args] = words
  const env = input.texts('env').map(readVariable)
  const headers = input.texts('header').map(readHeader)
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(first)) {
    if (args.length > 0) throw new UsageError(`nothing may follow the URL; ${JSON.stringify(args[0])} does.`)
    if (env.length > 0) throw new UsageError('--env is for a command; a URL takes --header.')
    return { url: first, ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}) }
  }
  if (/^https?[:/]/i.test(first))
    throw new UsageError(`${JSON.stringify(first)} is not a URL; write it as in https://docs.test/mcp.`)
  if (headers.length > 0) throw new UsageError('--header is for a URL; a command takes --env.')
  const isPath = /[\\/]/.test(first) && !isAbsolute(first) && !first.startsWith('~')
  return {
    command: isPath ? resolve(machine.folder, first) : first,
    ...(args.length > 0 ? { args } : {}),
    ...(env.length > 0 ? { env: Object.fromEntries(env) } : {}),
  }
}

function readVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? []
  // The value may be a secret, so the message does not repeat it.
  if (name === undefined) throw new UsageError('--env is not a variable; write KEY=value, or KEY alone.')
  return [name, value ?? `\${${name}}`]
}

function readHeader(text: string): [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError('--header is not a header; write "Name: value".')
  return [name, value]
}

function unsetIn(fields: Fields, { environment }: LocalMachine): string[] {
  const texts = JSON.stringify(fields)
  return [
    ...new Set(expand(texts, { ...environment, workspaceFolder: '', workspaceFolderBasename: '' }).missing),
  ]
}
