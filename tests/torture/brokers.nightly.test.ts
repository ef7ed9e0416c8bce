import { overBrokers } from './scenarios.ts'
import { itSurvives } from './suite.ts'

itSurvives(overBrokers)
