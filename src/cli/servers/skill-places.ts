// Reads the skills of `toolshelf mcp --skills`: of folders once, of indexes until they have answered.
import { loadSkills, remoteSkills } from '../../agent/skills/index.ts'
import type { OfferedSkill } from '../../mcp/index.ts'

/** Returns a function for the skills of all places; of two with the same name the first is used, and the other reported. */
export async function openSkillPlaces(
  places: readonly string[],
  notify: (message: string) => void,
): Promise<() => Promise<readonly OfferedSkill[]>> {
  const [urls, folders] = [places.filter(isUrl), places.filter((place) => !isUrl(place))]
  const local = await loadSkills(folders, notify)
  const indexes = urls.map((url) => remoteSkills(url, fetch, notify))
  const reported = new Set<string>()
  return async () => {
    const remote = (await Promise.all(indexes.map((skills) => skills()))).flat()
    const byName = new Map<string, OfferedSkill>()
    for (const skill of [...local, ...remote]) {
      const other = byName.get(skill.name)
      if (!other) byName.set(skill.name, skill)
      else if (!reported.has(skill.place)) {
        reported.add(skill.place)
        notify(`the skill ${skill.place} is left out: ${other.place} has its name, "${skill.name}".`)
      }
    }
    return [...byName.values()]
  }
}

function isUrl(place: string): boolean {
  return /^https?:\/\//.test(place)
}
