/** Loaded before the tests of `npm run check`: a property is tried 25 times, if its test says no number (`runs`). */
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 25 })
