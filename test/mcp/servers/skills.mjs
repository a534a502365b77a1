// A server that offers skills, made with the official library: files by their paths. Its tool replaces them.
import { McpServer } from '@modelcontextprotocol/server'
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import * as z from 'zod/v4'

export async function loadServer(given) {
  const files = { ...given }
  const skills = await SkillsExtension.load(memorySkillFiles(files), { pageSize: 500 })
  return () => {
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
  }
}
