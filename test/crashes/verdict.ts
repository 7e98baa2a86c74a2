/** The last line of a campaign, and its exit code: 0 only when all was done that was asked, and no law was broken. */
import type { Campaign, Result } from './campaign.ts'

export type Asked = Pick<Campaign, 'kills' | 'everyMoment' | 'minutes'>

export function verdictOf(
  asked: Asked,
  result: Omit<Result, 'counted'>,
): { readonly line: string; readonly code: 0 | 1 } {
  const { broken, kills, faults, moments, unvisited, missed, byHand, unbegun, foundFull, skipped } = result
  const missing = missingOf(asked, result)
  const unfinished = `not finished: ${missing.join(', ')}`
  const laws = broken ? 'BROKEN' : 'no law was broken'
  const line = [
    ...(missing.length === 0 ? [laws] : broken ? [laws, unfinished] : [unfinished, `${laws} until then`]),
    `${kills} kills`,
    `${faults} failing disks`,
    `${foundFull} different writes found a full one`,
    `the system answered EIO to ${result.systemFailed} and came too late for ${result.systemMissed}`,
    unvisited === 0
      ? 'every moment of every write visited'
      : `of ${moments} moments ${moments - unvisited} were visited`,
    `${missed} came to their end before their moment`,
    `${byHand} starts needed a person`,
    `nothing had begun behind ${unbegun} of the unresolved ids`,
    ...(skipped.length === 0 ? [] : [`kinds of failing disks skipped: ${skipped.length}`]),
  ].join(', ')
  return { line, code: broken || missing.length > 0 ? 1 : 0 }
}

/** Disks that nobody can make fail here are no part of it: they are named as skipped. */
function missingOf(
  { kills, everyMoment, minutes }: Asked,
  done: Pick<Result, 'kills' | 'faults' | 'disks' | 'moments' | 'unvisited'>,
): readonly string[] {
  const missing = [
    ...(done.kills < kills ? [`${kills - done.kills} of ${kills} kills were not made`] : []),
    ...(everyMoment && done.unvisited > 0 ? [`${done.unvisited} of ${done.moments} moments were not visited`] : []),
    ...(done.faults < done.disks ? [`${done.disks - done.faults} of ${done.disks} failing disks were not tried`] : []),
  ]
  const isTimeUp = done.kills < kills || done.faults < done.disks
  return isTimeUp ? [...missing, `the time of ${minutes} minutes was up`] : missing
}
