// Exports of mcp/skills for other folders.

export { isFileOf, offersSkills, readSkillEntries, SKILLS, type SkillEntry } from './entry.ts'
export {
  createServerSkills,
  type OfferedSkill,
  type ServerSkill,
  type ServerSkills,
} from './server-skills.ts'
