// Tells what it was given: its environment, arguments and working directory.
import { serve, text, tool } from './wire.mjs'

serve({
  'tools/list': () => ({ tools: [tool('reveal')] }),
  'tools/call': () =>
    text(
      JSON.stringify({ environment: process.env, arguments: process.argv.slice(2), folder: process.cwd() }),
    ),
})
