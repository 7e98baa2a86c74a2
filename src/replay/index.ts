export { Candidates } from './candidates.ts'
export { type ReplayCounts, Tally } from './counts.ts'
export { OTHER_STEPS, type OtherStep, type Ruling } from './recorded-decisions.ts'
export {
  type Difference,
  type NewRuling,
  type Replay,
  type ReplayedJournal,
  type ReplayScope,
  replayRun,
} from './replay-run.ts'
export { Surfaces } from './surface.ts'
