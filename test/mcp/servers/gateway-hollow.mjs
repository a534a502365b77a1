// Declares resources and prompts, and has neither.
import { initialized, serve, tool } from './wire.mjs'

serve({
  initialize: (params) => initialized(params, { resources: {}, prompts: {}, completions: {} }),
  'tools/list': () => ({ tools: [tool('nothing')] }),
})
