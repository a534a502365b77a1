// `toolshelf chat`: an agent with your MCP servers, in the terminal.
import { createChat } from './chat/chat.ts'
import { modelOptions, openClient } from './client.ts'
import { type Command, CommandError } from './command.ts'
import { readWindow, sessionOptions } from './run.ts'
import { openSession } from './session.ts'
import { readUsing, usingOptions } from './using-options.ts'

export const chat: Command = {
  name: 'chat',
  summary: 'An agent with your MCP servers, in the terminal.',
  words: '[--config <files>] [--model <id>] [--resume last]',
  options: { ...modelOptions, ...sessionOptions, ...usingOptions },
  examples: [
    'toolshelf chat',
    'toolshelf chat --config .mcp.json --allow "mcp__github__*"',
    'toolshelf chat --resume last',
    'toolshelf chat --script examples/script.json',
  ],
  async run(input, terminal) {
    if (!terminal.isInteractive || !process.stdin.isTTY)
      throw new CommandError('a chat needs a terminal. Without one, use "toolshelf run".')
    const opened = await openClient(input, process.env)
    const directory = input.text('directory') ?? process.cwd()
    const chat = createChat({
      welcome: [`toolshelf chat: ${opened.about}, in ${directory}`],
      allowed: (input.text('allow') ?? '').split(',').filter(Boolean),
    })
    try {
      const session = await openSession({
        client: opened.client as never,
        model: opened.model,
        directory,
        configFiles: input.text('config')?.split(','),
        permission: chat.permission,
        resume: input.text('resume'),
        using: readUsing(input),
        contextWindow: readWindow(input),
        notify: chat.notify,
      })
      chat.attach(session)
      const { showChat } = await import('./chat/view.tsx')
      await showChat(chat)
      await session.close()
      terminal.print(`The session is kept: toolshelf chat --resume ${session.file}`)
      return 0
    } finally {
      await opened.close()
    }
  },
}
