export { type Activity, type ActivityReading, countActivity, type RunOutcome } from './activity.ts'
export { processApi } from './process-api.ts'
