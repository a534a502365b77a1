// A server that offers skills, made with the official library. SKILLS is JSON: files by their paths. Its tool replaces them.
import { McpServer } from '@modelcontextprotocol/server'
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'

const files = JSON.parse(process.env.SKILLS ?? '{}')
const skills = await SkillsExtension.load(memorySkillFiles(files), { pageSize: 500 })

serveStdio(() => {
  const server = new McpServer({ name: 'skills', version: '1.0.0' })
  server.registerTool(
    'replace',
    { description: 'Replaces a file', inputSchema: z.object({ path: z.string(), text: z.string() }) },
    async ({ path, text }) => {
      files[path] = text
      const { changed } = await skills.reload()
      server.sendResourceListChanged()
      return { content: [{ type: 'text', text: changed.join() }] }
    },
  )
  skills.attach(server)
  return server
})
