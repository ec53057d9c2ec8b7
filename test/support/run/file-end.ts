import { afterAll } from 'vitest'
import { giveAllBack } from './borrowed.ts'

afterAll(giveAllBack)
