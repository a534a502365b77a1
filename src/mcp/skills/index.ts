// Exports of mcp/skills for other folders.

export { isFileOf, offersSkills, readSkillEntries, SKILLS, type SkillEntry } from './entry.ts'
export { type OfferedSkill, type ServerSkill, type ServerSkills, serverSkills } from './server-skills.ts'
