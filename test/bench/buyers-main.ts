import { measureBuyers } from './buyers.ts'

for (const row of await measureBuyers()) console.log(row.what.padEnd(56), row.figure.padEnd(14), row.beside)
process.exit(0)
