/** Text as printable ASCII on one line: everything else is spelled as `\uXXXX`, so that it is seen and steers nothing. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, spelled)
}

export function spelled(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
