import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type HubOptions, hubSettings } from '../../src/models/hub-models.js';

describe('where hubModels keeps files', () => {
  it.each([
    [{ HF_HUB_CACHE: '/a', HF_HOME: '/b', XDG_CACHE_HOME: '/c' }, '/a'],
    [{ HF_HOME: '/b', XDG_CACHE_HOME: '/c' }, '/b/hub'],
    [{ HF_HUB_CACHE: '', XDG_CACHE_HOME: '/c' }, '/c/huggingface/hub'],
    [{ HF_HOME: '~/models' }, join(homedir(), 'models/hub')],
    [{}, join(homedir(), '.cache/huggingface/hub')],
  ])('with %j is %s', (environment, directory) => {
    expect(hubSettings({}, environment).cacheDirectory).toBe(directory);
    expect(hubSettings({ cacheDirectory: '/own' }, environment).cacheDirectory).toBe('/own');
  });
});

describe('the environment', () => {
  it('decides what no option says', () => {
    const environment = { HF_TOKEN: 't', HF_HUB_OFFLINE: 'True', HF_ENDPOINT: 'https://mirror.example/' };
    expect(hubSettings({}, environment)).toMatchObject({
      token: 't',
      offline: true,
      endpoint: 'https://mirror.example',
    });
    const options = { token: 'own', offline: false, endpoint: 'http://localhost:1' };
    expect(hubSettings(options, environment)).toMatchObject(options);
  });

  it('may be empty', () => {
    expect(hubSettings({}, { HF_HUB_OFFLINE: '0' })).toMatchObject({
      token: undefined,
      offline: false,
      endpoint: 'https://huggingface.co',
      revision: 'main',
    });
  });
});

it('is checked as options are', () => {
  expect(() => hubSettings({}, { HF_ENDPOINT: 'huggingface' })).toThrow('endpoint');
});

describe('an option that makes no sense', () => {
  it.each<[string, HubOptions]>([
    ['endpoint', { endpoint: 'ftp://example.com' }],
    ['retries', { retries: -1 }],
    ['stallTimeoutMs', { stallTimeoutMs: 0 }],
    ['token', { token: '' }],
    ['token', { token: 'hf_SESAME\nSESAME' }],
  ])('is named: %s', (field, options) => {
    expect(() => hubSettings(options, {})).toThrow(field);
    expect(() => hubSettings(options, {})).not.toThrow('SESAME');
  });
});
