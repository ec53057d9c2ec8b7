import { id, oneOf, text, timestamp } from './column.ts'

/** The screens whose filters a user may keep. */
export const VIEW_SCREENS = ['models', 'logs', 'activity', 'jobs', 'offers'] as const
export type ViewScreen = (typeof VIEW_SCREENS)[number]

/** The table of `0209_saved_views.sql`. */
export const SAVED_VIEW_TABLES = {
  saved_view: {
    id: id('viw'),
    user_id: id('usr'),
    screen: oneOf(VIEW_SCREENS),
    name: text(),
    query: text(),
    created_at: timestamp(),
  },
}
