import { overTcp } from './scenarios.ts'
import { itSurvives } from './suite.ts'

itSurvives(overTcp)
