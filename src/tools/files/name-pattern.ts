/**
 * Patterns for names: "*" stands for any characters, "?" for one, everything else for itself. Matched without going back more
 * than one star, so no pattern of a model can hold up the process; a regular expression could.
 */
export function nameMatches(pattern: string, name: string): boolean {
  let inPattern = 0
  let inName = 0
  let star = -1
  let resume = 0
  while (inName < name.length) {
    const unit = pattern[inPattern]
    if (unit === '*') {
      star = inPattern
      resume = inName
      inPattern += 1
    } else if (unit !== undefined && (unit === '?' || unit === name[inName])) {
      inPattern += 1
      inName += 1
    } else if (star >= 0) {
      resume += 1 // the star takes one character more
      inName = resume
      inPattern = star + 1
    } else {
      return false
    }
  }
  while (pattern[inPattern] === '*') inPattern += 1
  return inPattern === pattern.length
}
