import { readModelReport } from '../model-folder/index.js';
import { reportHtml } from '../report/index.js';

/** The HTML page about a model, from its folder. @param created when its job was. @throws ModelFolderError */
export async function modelReport(directory: string, id: string, created: string): Promise<string> {
  return reportHtml({ ...(await readModelReport(directory)), id, created });
}
