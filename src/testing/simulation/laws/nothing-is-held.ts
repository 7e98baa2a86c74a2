/** What a process that ended cleanly has let go: everything. */
import type { Law } from './law.ts'

export function nothingIsHeld(): Law {
  return {
    name: 'nothing is held',
    watch: (seen) => {
      if (seen.kind !== 'Closed') return null
      const left = Object.entries(seen.held).filter(([, count]) => count !== 0)
      if (left.length === 0) return null
      return `Process ${seen.life} ended and still holds ${left.map(([name, count]) => `${count} ${name}`).join(', ')}`
    },
  }
}
