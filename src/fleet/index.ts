export { type Activity, type ActivityReading, countActivity, type RunOutcome } from './activity.ts'
export { NO_SCHEDULER } from './health.ts'
export { type ProcessParts, processApi } from './process-api.ts'
