/** The echo server of this project with telemetry: messages are counted; without an SDK. */
import { runWatched } from './watched.ts'

await runWatched(7014, undefined)
