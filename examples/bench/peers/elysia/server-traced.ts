/** The echo server of this project with telemetry: each message is traced. */
import { runWatched } from './watched.ts'

await runWatched(7016, 1)
