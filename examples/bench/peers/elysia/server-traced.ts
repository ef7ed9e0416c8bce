/** The echo server of this project, watched: each message is traced. */
import { runWatched } from './watched.ts'

await runWatched(7016, 1)
