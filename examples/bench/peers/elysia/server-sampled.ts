/** The echo server of this project, watched: one message of a hundred is traced. */
import { runWatched } from './watched.ts'

await runWatched(7015, 0.01)
