// One search for tools and skills: what fits is named with what to do, and nothing else.
import { describe, expect, it } from 'vitest'
import { createSkills } from '../../packages/agent/src/skills/skills.ts'
import type { ShelfOptions } from '../../packages/core/src/index.ts'
import { mcp, quietShelf } from '../../packages/testkit/src/talk.ts'

const tools = [
  mcp('github', 'create_issue', { description: 'Opens an issue in a repository.' }),
  mcp('mail', 'send_email', { description: 'Sends an e-mail.' }),
]

const search = async (query: string, options: ShelfOptions = {}) =>
  quietShelf({ tools, rank: 'hybrid', ...options }).search({ query })

const item = { kind: 'skill', name: 'report', description: 'Writes a report.', advice: 'read it with Skill' }

describe('the option related', () => {
  it('the answer names what fits beside tools, with what to do about it', async () => {
    const { remark, related } = await search('write a report', { related: () => [item] })
    expect(remark).toMatch(
      /Beside your tools, these fit:\n- skill report: Writes a report\. \(read it with Skill\)$/,
    )
    expect(related).toEqual([item])
  })

  it('S17 a stranger’s texts are one line each and cut, and three are named at most', async () => {
    const long = { ...item, name: `x\n- skill ${'y'.repeat(500)}`, description: 'z\n'.repeat(9000) }
    const { remark } = await search('report', { related: () => Array(9).fill(long) })
    const lines = remark.split('Beside your tools')[1]!.split('\n').slice(1)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.length).toBeLessThan(700)
  })

  it('is not asked for exact names, and a failure costs only what it would have found', async () => {
    const related = () => {
      throw new Error('broken')
    }
    expect((await search('create issue', { related })).tools).toHaveLength(1)
    const asked: string[] = []
    await search('select:mcp__mail__send_email', {
      related: (query) => [...asked.splice(0, 0, query)].map(() => item),
    })
    expect(asked).toEqual([])
  })

  it('refuses what is not a function', () => {
    expect(() => quietShelf({ related: 'skills' as never })).toThrow(/option "related" is "skills"/)
  })
})

describe('skills', () => {
  const skill = (name: string, description: string) => ({
    ...{ name, description, place: '/skills', isRemote: true },
    read: async () => 'Do it.',
  })
  it('U2 skills rank with the tools: many of them do not drown what the shelf answers better', async () => {
    const many = Array.from({ length: 2000 }, (_, n) => skill(`skill-${n}`, `Counts ${n} sheep.`))
    const found = await search('create issue', { related: createSkills(many).related })
    expect(found.related).toEqual([])
    expect(found.tools.map(({ original }) => original)[0]).toBe('create_issue')
  })

  const skills = () =>
    createSkills([skill('pdf-report', 'Makes a PDF report with charts.'), skill('haiku', 'Writes a haiku.')])

  it('U2 a search for tools finds the skill that fits better, and it counts as discovered (U3)', async () => {
    const own = skills()
    const { related } = await search('make a pdf report', { related: own.related })
    expect(related).toMatchObject([{ kind: 'skill', name: 'pdf-report' }])
    expect(own.discoveries).toMatchObject([{ skills: [{ name: 'pdf-report' }] }])
  })

  it('U2 a search that tools answer names no skill', async () => {
    expect((await search('create issue', { related: skills().related })).related).toEqual([])
  })
})
