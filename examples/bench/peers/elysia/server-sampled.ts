/** The echo server of this project with telemetry: one of a hundred messages is traced. */
import { runWatched } from './watched.ts'

await runWatched(7015, 0.01)
